// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/access_log.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/proxy/log/scratch.h"

namespace bloomwall::proxy {
namespace {

using namespace std::chrono_literals;
using test::lines_of;
using test::Scratch;

conf::AccessLog settings_for(const std::string& file) {
  conf::AccessLog settings;
  settings.file = file;
  return settings;
}

TEST(AccessLog, ThreadsWriteWithoutAnnouncingThemselves) {
  const Scratch scratch;
  auto log = std::move(*AccessLog::open(settings_for(scratch.path("a.log"))));
  EXPECT_TRUE(log->enabled());
  constexpr int kThreads = 8, kLines = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kLines; ++i) log->write("a line\n");
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(log->flush(20s));
  const auto lines = lines_of(scratch.read("a.log"));
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(kThreads * kLines));
  for (const auto& line : lines) ASSERT_EQ(line, "a line");
  EXPECT_EQ(log->lines_written(), static_cast<std::uint64_t>(kThreads * kLines));
}

TEST(AccessLog, OneThreadMayWriteToTwoLogsInTurn) {
  const Scratch scratch;
  auto a = std::move(*AccessLog::open(settings_for(scratch.path("a.log"))));
  auto b = std::move(*AccessLog::open(settings_for(scratch.path("b.log"))));
  for (int i = 0; i < 2000; ++i) {
    a->write("a\n");
    b->write("b\n");
  }
  ASSERT_TRUE(a->flush(20s) && b->flush(20s));
  EXPECT_EQ(lines_of(scratch.read("a.log")), std::vector<std::string>(2000, "a"));
  EXPECT_EQ(lines_of(scratch.read("b.log")), std::vector<std::string>(2000, "b"));
}

TEST(AccessLog, AThreadThatOutlivesALogFindsTheNext) {
  const Scratch scratch;
  for (const char* name : {"a.log", "b.log", "c.log"}) {
    auto log = std::move(*AccessLog::open(settings_for(scratch.path(name))));
    log->write("line\n");
    log->close(20s);
    EXPECT_EQ(scratch.read(name), "line\n");
  }
}

TEST(AccessLog, OffWritesNothing) {
  auto log = std::move(*AccessLog::open(settings_for("off")));
  EXPECT_FALSE(log->enabled());
  log->write("line\n");
  log->reopen();
  EXPECT_TRUE(log->flush(0ms));
  EXPECT_EQ(log->lines_written() + log->lines_dropped(), 0U);
  EXPECT_FALSE(std::filesystem::exists("off"));
}

TEST(AccessLog, WhatCannotBeOpenedNamesItsKey) {
  const auto log = AccessLog::open(settings_for("/nonexistent/a.log"));
  ASSERT_FALSE(log.has_value());
  EXPECT_EQ(log.error(), "log.access.file: /nonexistent/a.log: No such file or directory");
}

}  // namespace
}  // namespace bloomwall::proxy
