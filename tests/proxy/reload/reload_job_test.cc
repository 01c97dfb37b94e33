// A reload from the files to the hand-over, with a main loop that the test plays.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/reload_job.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "tests/support/site.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using test::Site;
using testing::Contains;
using testing::HasSubstr;

TEST(Handover, EndsWithWhatTheMainLoopSays) {
  Handover refused;
  refused.served({2, {}, {"no"}});
  EXPECT_EQ(refused.wait({}).lines, (std::vector<std::string>{"no"}));
  Handover taken;
  auto answer = std::async(std::launch::async, [&] { return taken.wait({}); });
  taken.served({});
  EXPECT_EQ(answer.wait_for(10ms), std::future_status::timeout) << "the workers do not have it yet";
  taken.adopted();
  ASSERT_EQ(answer.wait_for(20s), std::future_status::ready);
  EXPECT_TRUE(answer.get().ok());
}

TEST(Handover, AStopEndsEveryWait) {
  for (const bool is_served : {false, true}) {
    Handover handover;
    std::stop_source source;
    if (is_served) handover.served({});
    auto answer = std::async(std::launch::async, [&] { return handover.wait(source.get_token()); });
    source.request_stop();
    ASSERT_EQ(answer.wait_for(20s), std::future_status::ready);
    const ReloadOutcome outcome = answer.get();
    EXPECT_EQ(outcome.ok(), is_served);
    EXPECT_TRUE(outcome.warnings.empty());
  }
}

class ReloadJobTest : public testing::Test {
 protected:
  ReloadOutcome run(std::uint64_t generation) { return job_.run(generation, stop_.get_token()); }
  conf::Config settings() const {
    auto loaded = load_settings(config_);
    EXPECT_TRUE(loaded.has_value());
    return *std::move(loaded);
  }
  void serve(const Edition& edition, const std::shared_ptr<Handover>& handover) {
    served_.push_back(edition);
    handover->served(answer_);
    handover->adopted();
  }
  const filter::FilterFile* file_of(std::size_t edition) const { return served_[edition].policy->filters()[0].file; }

  Site site_;
  const std::filesystem::path config_ = site_.configure("state_dir: null\nallow_lists: [allow.txt]\n");
  const std::filesystem::path allow_ = site_.dir.write("allow.txt", "good.example.test\n");
  std::vector<Edition> served_;
  ReloadOutcome answer_;
  std::stop_source stop_;
  ReloadJob job_{
      config_,
      settings(),
      {.serve = [this](const Edition& edition, std::shared_ptr<Handover> handover) { serve(edition, handover); },
       .say = [](const std::string&) {}}};
};

TEST_F(ReloadJobTest, WhatDidNotChangeIsServedOn) {
  const ReloadOutcome first = run(1);
  ASSERT_TRUE(first.ok()) << testing::PrintToString(first.lines);
  EXPECT_THAT(first.lines, Contains(HasSubstr("generation 1 is served: 1 filter (2 entries), 1 allow entry")));
  site_.dir.write("allow.txt", "good.example.test\nbetter.example.test\n");
  const ReloadOutcome second = run(2);
  EXPECT_THAT(second.lines, Contains(HasSubstr("generation 2 is served: 1 filter (2 entries), 2 allow entries")));
  EXPECT_EQ(file_of(1), file_of(0));
  site_.make_filter({"S other.example.test"});
  ASSERT_TRUE(run(3).ok());
  EXPECT_NE(file_of(2), file_of(0));
}

TEST_F(ReloadJobTest, AFailureSaysWhatIsServedOn) {
  ASSERT_TRUE(run(1).ok());
  site_.dir.write("allow.txt", "http://\n");
  const ReloadOutcome failed = run(2);
  EXPECT_EQ(failed.status, kExitRefused);
  EXPECT_THAT(failed.lines, Contains(HasSubstr("allow.txt:1: ")));
  EXPECT_THAT(failed.lines, Contains(HasSubstr("generation 1 stays in use")));
  EXPECT_EQ(served_.size(), 1U);
}

TEST_F(ReloadJobTest, ARefusalOfTheMainLoopIsTheOutcome) {
  answer_ = {kExitError, {}, {"bloomwall is stopping"}};
  const ReloadOutcome refused = run(1);
  EXPECT_EQ(refused.status, kExitError);
  EXPECT_THAT(refused.lines, Contains("bloomwall is stopping"));
}

// The policy before goes with the reload that replaced it: the job holds the one that is served alone.
TEST_F(ReloadJobTest, HoldsNoPolicyThatWasReplaced) {
  ASSERT_TRUE(run(1).ok());
  const std::weak_ptr<const filter::Policy> first = served_[0].policy;
  served_.clear();
  EXPECT_FALSE(first.expired());
  ASSERT_TRUE(run(2).ok());
  EXPECT_TRUE(first.expired());
}

TEST_F(ReloadJobTest, ALookAtTheDiskWaitsForNoPipe) {
  ASSERT_TRUE(run(1).ok());
  std::filesystem::remove(config_);
  ASSERT_EQ(::mkfifo(config_.c_str(), 0600), 0);
  auto look = std::async(std::launch::async, [&] { return job_.look_at_disk(); });
  const bool has_ended = look.wait_for(20s) == std::future_status::ready;
  EXPECT_TRUE(has_ended);
  if (!has_ended) ::close(::open(config_.c_str(), O_WRONLY | O_CLOEXEC));  // what it reads ends
  EXPECT_EQ(look.get(), ConfigurationOnDisk{});
}

}  // namespace
}  // namespace bloomwall::proxy
