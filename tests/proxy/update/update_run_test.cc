// Runs of `bloomwall update` that meet another run, or a folder that takes no state.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/update_run.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "proxy/update/lists_state.h"

namespace bloomwall::proxy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class UpdateRunTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "bloomwall-update-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "ads.txt") << "ad.test\n";
    settings_.update.folder = folder_ / "lists";
    conf::Filter filter;
    filter.name = "ads";
    filter.file = folder_ / "ads.bwf";
    filter.sources = {{.url = (folder_ / "ads.txt").string()}};
    settings_.filters = {filter};
    std::filesystem::create_directory(settings_.update.folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  tl::expected<UpdateReport, std::string> run(UpdateRunOptions options) {
    options.say = [this](const std::string& line) { said_ += line + '\n'; };
    options.now = [] { return Seconds{1'700'000'000}; };
    options.reload = [this] {
      ++reloads_;
      return takes_reload_;
    };
    options.lock_wait = std::chrono::milliseconds(0);
    return run_update(settings_, options);
  }

  std::filesystem::path folder_;
  conf::Config settings_;
  std::string said_;
  int reloads_ = 0;
  bool takes_reload_ = true;
};

TEST_F(UpdateRunTest, WishOutlivesARunThatDoesNotGetItsTurn) {
  ASSERT_TRUE(leave_wish(settings_.update.folder, {.names = {"ads"}, .who = "anna"}).has_value());
  {
    const UniqueFd other(::open((settings_.update.folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
    const auto report = run({.of_wish = true});
    ASSERT_FALSE(report.has_value());
    EXPECT_THAT(report.error(), HasSubstr("another update is running"));
    EXPECT_TRUE(has_wish(settings_.update.folder));
  }
  const auto report = run({.of_wish = true});
  ASSERT_TRUE(report.has_value()) << report.error();
  EXPECT_THAT(report->built, ElementsAre("ads"));
  EXPECT_FALSE(has_wish(settings_.update.folder));
  const auto again = run({.of_wish = true});
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_TRUE(again->built.empty());
}

TEST_F(UpdateRunTest, WishForAFilterThatIsGoneIsGoneToo) {
  ASSERT_TRUE(leave_wish(settings_.update.folder, {.names = {"none"}}).has_value());
  const auto report = run({.of_wish = true});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error(), "there is no filter none");
  EXPECT_FALSE(has_wish(settings_.update.folder));
}

TEST_F(UpdateRunTest, WishForAFilterThatIsGoneTakesNoOtherWithIt) {
  ASSERT_TRUE(leave_wish(settings_.update.folder, {.names = {"none"}}).has_value());
  ASSERT_TRUE(leave_wish(settings_.update.folder, {.names = {"ads"}}).has_value());
  const auto report = run({.of_wish = true});
  ASSERT_TRUE(report.has_value()) << report.error();
  EXPECT_THAT(report->built, ElementsAre("ads"));
}

TEST_F(UpdateRunTest, WhatWasBuiltIsToldWhereTheStateCannotBeWritten) {
  std::filesystem::create_directories(settings_.update.folder / kListsFile / "in the way");
  const auto report = run({});
  ASSERT_TRUE(report.has_value()) << report.error();
  EXPECT_THAT(report->built, ElementsAre("ads")) << "whoever has run it must have the proxy take it over";
  EXPECT_TRUE(report->is_bad);
  EXPECT_THAT(said_, HasSubstr(kListsFile));
  const auto again = run({.names = {"ads"}});
  ASSERT_TRUE(again.has_value()) << again.error();
}

TEST_F(UpdateRunTest, ReloadThatFailedIsTriedAgainByTheNextRun) {
  takes_reload_ = false;
  const auto first = run({});
  ASSERT_TRUE(first.has_value()) << first.error();
  EXPECT_TRUE(first->is_bad);
  takes_reload_ = true;
  const auto second = run({});
  ASSERT_TRUE(second.has_value()) << second.error();
  EXPECT_FALSE(second->is_bad);
  EXPECT_EQ(reloads_, 2);
  ASSERT_TRUE(run({.names = {"ads"}}).has_value());
  EXPECT_EQ(reloads_, 2) << "there was nothing to tell";
}

TEST_F(UpdateRunTest, FilesOfOthersStayAmongTheCopies) {
  ASSERT_TRUE(run({}).has_value());
  const std::filesystem::path copies = copies_of(settings_.update.folder, "ads");
  const std::vector<std::string> others{"mine.zst", "mine.list", "mine-1-2.zst", "-0123456789abcdef.zst", "notes"};
  const std::vector<std::string> ours{"a-01234567-0123456789abcdef.zst", "a-01234567-0123456789abcdef.list",
                                      ".fetched-abc", ".a.zst.xyz.bwf-tmp"};
  for (const auto& name : others) std::ofstream(copies / name) << "x";
  for (const auto& name : ours) std::ofstream(copies / name) << "x";
  ASSERT_TRUE(run({.names = {"ads"}}).has_value());
  for (const auto& name : others) EXPECT_TRUE(std::filesystem::exists(copies / name)) << name;
  for (const auto& name : ours) EXPECT_FALSE(std::filesystem::exists(copies / name)) << name;
}

}  // namespace
}  // namespace bloomwall::proxy
