// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace bloomwall::proxy {
namespace {

TEST(Signals, ArriveAsEventsOfTheLoop) {
  block_signals();
  EventLoop loop;
  std::vector<int> got;
  Signals signals(loop, [&](int number) {
    got.push_back(number);
    if (got.size() == 4) loop.stop();
  });
  for (const int number : {SIGHUP, SIGUSR1, SIGTERM, SIGINT}) ::kill(::getpid(), number);
  loop.run();
  std::ranges::sort(got);
  std::vector<int> want{SIGHUP, SIGUSR1, SIGTERM, SIGINT};
  std::ranges::sort(want);
  EXPECT_EQ(got, want);
}

// Nor is a log that has reached the size that files may have.
TEST(Signals, ABrokenPipeIsNoReasonToDie) {
  block_signals();
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    ::raise(number);
    struct sigaction now{};
    ASSERT_EQ(::sigaction(number, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_IGN) << number;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
