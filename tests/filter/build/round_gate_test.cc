// SPDX-License-Identifier: Apache-2.0
#include "filter/build/round_gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace bloomwall::filter {
namespace {

TEST(RoundGate, OneWorkerDoesTheWorkItself) {
  RoundGate gate;
  gate.begin();
  int done = 0;
  gate.wait([&] { ++done; });
  gate.wait([&] { ++done; });
  gate.end();
  EXPECT_EQ(done, 2);
}

TEST(RoundGate, WorkIsDoneOnceWhileAllWait) {
  constexpr int kWorkers = 4;
  constexpr int kRounds = 200;
  RoundGate gate;
  std::atomic<int> outside = 0;
  int done = 0;  // no lock: whoever does the work is alone
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < kWorkers; ++i) gate.begin();
    for (int i = 0; i < kWorkers; ++i) {
      workers.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round) {
          ++outside;
          --outside;
          gate.wait([&] {
            EXPECT_EQ(outside.load(), 0);
            ++done;
          });
        }
        gate.end();
      });
    }
  }
  EXPECT_EQ(done, kRounds);
  EXPECT_FALSE(gate.is_wanted());
}

TEST(RoundGate, WhoWaitsMayDoSomethingMeanwhile) {
  RoundGate gate;
  gate.begin();
  gate.begin();
  std::atomic<int> meanwhile = 0;
  const RoundGate::Meanwhile count = [&] {
    ++meanwhile;
    meanwhile.notify_all();
  };
  int done = 0;
  std::jthread other([&] {
    gate.wait([&] { ++done; }, count);
    gate.end();
  });
  meanwhile.wait(0);  // it was called, so the other one waits
  EXPECT_EQ(done, 0);
  gate.wait([&] {
    meanwhile.wait(meanwhile.load());  // and is called on while the work is done
    ++done;
  });
  gate.end();
  EXPECT_EQ(done, 1);
}

TEST(RoundGate, WorkersThatEndAreNotWaitedFor) {
  RoundGate gate;
  gate.begin();
  gate.begin();
  int done = 0;
  std::jthread waiting([&] {
    gate.wait([&] { ++done; });
    gate.end();
  });
  while (!gate.is_wanted()) std::this_thread::yield();
  gate.end();
  waiting.join();
  EXPECT_EQ(done, 1);
}

TEST(RoundGate, WhoIsAskedToJoinsBetweenBlocks) {
  RoundGate gate;
  gate.begin();
  gate.begin();
  int done = 0;
  std::jthread full([&] {
    gate.wait([&] { ++done; });
    gate.end();
  });
  while (!gate.is_wanted()) std::this_thread::yield();
  gate.wait([&] { ++done; });
  gate.end();
  full.join();
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace bloomwall::filter
