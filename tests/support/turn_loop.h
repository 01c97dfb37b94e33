// Runs an event loop in the test's own thread until something has happened; bounded by kPatience.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "proxy/io/event_loop.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {

// By hand, one turn after the other.
template <typename Done>
void turn_until(proxy::EventLoop& loop, Done done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it never happened";
    event_base_loop(loop.base(), EVLOOP_ONCE);
  }
}

// Until something stops it.
inline void run_until_stopped(proxy::EventLoop& loop) {
  proxy::Timer bound(
      loop.timers(),
      [](void* self) {
        ADD_FAILURE() << "it never happened";
        static_cast<proxy::EventLoop*>(self)->stop();
      },
      &loop);
  bound.set(kPatience);
  loop.run();
}

}  // namespace bloomwall::test
