// Files that are written to while they are served themselves: said once, and a reload asked for once they are still.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/file_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "proxy/reload/loading.h"
#include "tests/support/site.h"

namespace bloomwall::proxy {
namespace {

using test::Site;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FileWatchTest : public testing::Test {
 protected:
  std::shared_ptr<const filter::Policy> load(bool own_copies, const std::string& more = {}) const {
    const auto file = site_.dir.write("c.yaml", "state_dir: null\nfilters: [{name: ads, file: ads.bwf" + more + "}]\n");
    const auto settings = load_settings(file);
    const auto policy = load_policy(*settings, {.make_resident = true, .own_copies = own_copies});
    EXPECT_TRUE(policy.has_value());
    return *policy;
  }
  // Each time of another length, so that no clock is needed to tell.
  void write_to_it() {
    std::ofstream out(file_, std::ios::binary | std::ios::app);
    out << "x";
  }
  const Site site_;
  const std::filesystem::path file_ = site_.dir.path() / "ads.bwf";
  FileWatch watch_;
};

TEST_F(FileWatchTest, SaysItOnceAndAsksForAReloadOnceItIsStill) {
  const auto policy = load(false);
  EXPECT_THAT(watch_.look(*policy, 1).errors, IsEmpty());
  EXPECT_EQ(lost_and_blocking(*policy), "");
  write_to_it();
  const auto first = watch_.look(*policy, 1);
  EXPECT_THAT(first.errors, ElementsAre(HasSubstr("its on_error blocks everything")));
  EXPECT_FALSE(first.reload_wanted) << "it may still be written to";
  EXPECT_EQ(lost_and_blocking(*policy), "ads");
  write_to_it();
  EXPECT_FALSE(watch_.look(*policy, 1).reload_wanted) << "and it was";
  const auto still = watch_.look(*policy, 1);
  EXPECT_TRUE(still.reload_wanted);
  EXPECT_THAT(still.errors, IsEmpty());
  EXPECT_FALSE(watch_.look(*policy, 1).reload_wanted) << "the same file is not tried twice";
  std::filesystem::remove(file_);
  EXPECT_FALSE(watch_.look(*policy, 1).reload_wanted);
  EXPECT_FALSE(watch_.look(*policy, 1).reload_wanted) << "there is none";
  site_.make_filter({"S listed.example.test"});
  EXPECT_FALSE(watch_.look(*policy, 1).reload_wanted);
  EXPECT_TRUE(watch_.look(*policy, 1).reload_wanted) << "another one";
  const auto next = load(false);
  EXPECT_THAT(watch_.look(*next, 2).errors, IsEmpty());
}

TEST_F(FileWatchTest, OnErrorAllowIsNoReasonToTurnClientsAway) {
  const auto policy = load(false, ", on_error: allow");
  write_to_it();
  EXPECT_THAT(watch_.look(*policy, 1).errors, ElementsAre(HasSubstr("lets everything pass")));
  EXPECT_EQ(lost_and_blocking(*policy), "");
}

TEST_F(FileWatchTest, WhatBlocksAGroupIsAReason) {
  const auto turns_away = [this](const std::string& action, const std::string& of_group) {
    const auto file =
        site_.dir.write("groups.yaml", "state_dir: null\nfilters: [{name: ads, file: ads.bwf, action: " + action +
                                           "}]\ngroups: [{name: pupils, clients: [10.2.0.0/16], filters: {ads: '" +
                                           of_group + "'}}, {name: all, filters: {ads: '" + of_group + "'}}]\n");
    const auto settings = load_settings(file);
    const auto policy = load_policy(*settings, {.make_resident = true, .own_copies = false});
    EXPECT_TRUE(policy.has_value());
    write_to_it();
    FileWatch().look(**policy, 1);
    const auto rules = GroupRules::compile(*settings).value();
    const std::string names = lost_and_blocking(**policy, GroupPolicies::make(rules.get(), *policy, 0).get());
    site_.make_filter({"S listed.example.test"});
    return names == "ads";
  };
  EXPECT_TRUE(turns_away("block", "block"));
  EXPECT_TRUE(turns_away("monitor", "block"));
  EXPECT_FALSE(turns_away("monitor", "monitor"));
}

TEST_F(FileWatchTest, ACopyIsNeverLost) {
  const auto policy = load(true);
  write_to_it();
  EXPECT_THAT(watch_.look(*policy, 1).errors, IsEmpty());
  EXPECT_THAT(served_on(*policy, 3, {file_}),
              ElementsAre(HasSubstr("generation 3 stays in use, from unchanged copies")));
}

// A reload found that file damaged which is served: a disk that gives back other bytes changes no time.
TEST_F(FileWatchTest, AReloadThatFailedOnTheFileThatIsServedMakesItLost) {
  const auto policy = load(false);
  EXPECT_THAT(served_on(*policy, 3, {"/elsewhere.bwf"}), ElementsAre("generation 3 stays in use"));
  EXPECT_THAT(served_on(*policy, 3, {file_}),
              ElementsAre(HasSubstr("filter ads is lost"), HasSubstr("generation 3 stays, with 1 of 1 filters lost")));
  const auto replaced = load(false);
  site_.make_filter({"S other.example.test"});
  EXPECT_THAT(served_on(*replaced, 4, {file_}), ElementsAre("generation 4 stays in use")) << "another file is damaged";
}

}  // namespace
}  // namespace bloomwall::proxy
