// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <regex>

#include "tests/proxy/log/scratch.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::lines_of;
using test::Scratch;

class DaemonLog : public testing::Test {
 protected:
  void open(log::Level level) {
    settings_.level = level;
    settings_.file = scratch_.path("d.log");
    const auto opened = open_log(settings_);
    ASSERT_TRUE(opened.has_value()) << opened.error();
  }
  void TearDown() override { close_log(1s); }
  std::vector<std::string> lines() {
    EXPECT_TRUE(flush_log(20s));
    return lines_of(scratch_.read("d.log"));
  }
  Scratch scratch_;
  conf::Log settings_;
};

TEST_F(DaemonLog, ALineHasTimeLevelAndText) {
  open(log::Level::info);
  log::info("generation {}", 7);
  log::warning("slow");
  log::error("broken");
  log::debug("not wanted");
  const auto got = lines();
  ASSERT_EQ(got.size(), 3U);
  const std::string time = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z )";
  EXPECT_TRUE(std::regex_match(got[0], std::regex(time + "info    generation 7"))) << got[0];
  EXPECT_TRUE(std::regex_match(got[1], std::regex(time + "warning slow"))) << got[1];
  EXPECT_TRUE(std::regex_match(got[2], std::regex(time + "error   broken"))) << got[2];
}

TEST_F(DaemonLog, NothingFromOutsideCanForgeALine) {
  open(log::Level::info);
  log::info("host {}", "a\n2024-01-01 forged\r\x1b[2J\x7f\0b"s);
  const auto got = lines();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_NE(got[0].find("host a\\x0a2024-01-01 forged\\x0d\\x1b[2J\\x7f\\x00b"), std::string::npos) << got[0];
}

TEST_F(DaemonLog, BracesInATextAreNoFormat) {
  open(log::Level::info);
  log::write(log::Level::info, "{} {:999999999d} %s %n");
  EXPECT_NE(lines().at(0).find("{} {:999999999d} %s %n"), std::string::npos);
}

TEST_F(DaemonLog, LevelAndFileChangeOnReopen) {
  open(log::Level::warning);
  EXPECT_FALSE(log::wanted(log::Level::info));
  log::info("no");
  settings_.level = log::Level::debug;
  std::filesystem::rename(scratch_.path("d.log"), scratch_.path("d.log.1"));
  reopen_log(settings_);
  ASSERT_TRUE(flush_log(20s));
  log::debug("yes");
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_NE(lines()[0].find("debug   yes"), std::string::npos);
  EXPECT_EQ(scratch_.read("d.log.1"), "");
}

TEST_F(DaemonLog, WhatCannotBeOpenedNamesItsKey) {
  settings_.file = "/nonexistent/d.log";
  const auto opened = open_log(settings_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error(), "log.file: /nonexistent/d.log: No such file or directory");
}

TEST_F(DaemonLog, TheJournalGetsPrioritiesInsteadOfTimes) {
  const std::string path = scratch_.path("d.log");
  {
    std::ofstream make(path);
  }
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  ::setenv("JOURNAL_STREAM", (std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino)).c_str(), 1);
  open(log::Level::debug);
  ::unsetenv("JOURNAL_STREAM");
  log::debug("d");
  log::info("i");
  log::warning("w");
  log::error("e");
  EXPECT_EQ(lines(), (std::vector<std::string>{"<7>d", "<6>i", "<4>w", "<3>e"}));
}

// Its troubles go to stderr; where that is stuck as well, nobody waits for it.
TEST_F(DaemonLog, AStuckStderrHoldsUpNothing) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const std::string block(4096, 'x');
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (::write(ends[1], block.data(), block.size()) > 0) {
  }
  ::fcntl(ends[1], F_SETFL, 0);  // full, and whoever writes waits
  const int saved = ::dup(STDERR_FILENO);
  ASSERT_EQ(::dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  settings_.file = "/dev/full";
  const auto opened = open_log(settings_);
  log::info("kept");
  EXPECT_FALSE(flush_log(100ms)) << "it cannot be written, and that is told to stderr";
  settings_.file = scratch_.path("d.log");
  reopen_log(settings_);
  const bool written = flush_log(20s);
  ::dup2(saved, STDERR_FILENO);
  for (const int fd : {saved, ends[0], ends[1]}) ::close(fd);
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(written);
  EXPECT_NE(lines().at(0).find("kept"), std::string::npos);
}

TEST_F(DaemonLog, WithoutALogLinesGoToStderr) {
  testing::internal::CaptureStderr();
  log::info("early {}", 1);
  log::debug("not wanted");
  log::error("bad");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "early 1\nbad\n");
  EXPECT_TRUE(flush_log(0ms));
  EXPECT_EQ(log_lines_dropped(), 0U);
}

}  // namespace
}  // namespace bloomwall::proxy
