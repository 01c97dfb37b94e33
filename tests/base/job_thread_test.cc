// SPDX-License-Identifier: Apache-2.0
#include "base/job_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace bloomwall {
namespace {

// Holds the thread until it is let go, or is asked to hurry.
struct Gate {
  std::promise<void> entered, opened;
  JobThread::Job job() {
    return [this](const std::stop_token&) {
      entered.set_value();
      opened.get_future().wait();
    };
  }
};

TEST(JobThread, DoesJobsInTheirOrderAndRefusesMoreThanMayWait) {
  std::vector<int> done;
  std::promise<void> last;
  JobThread thread(2, JobThread::AtEnd::finish);
  Gate gate;
  ASSERT_TRUE(thread.post(gate.job()));
  gate.entered.get_future().wait();
  EXPECT_TRUE(thread.post([&](const std::stop_token&) { done.push_back(1); }));
  EXPECT_TRUE(thread.post([&](const std::stop_token&) {
    done.push_back(2);
    last.set_value();
  }));
  EXPECT_FALSE(thread.post([&](const std::stop_token&) { done.push_back(3); }));
  gate.opened.set_value();
  last.get_future().wait();
  EXPECT_EQ(done, (std::vector<int>{1, 2}));
}

int done_after_the_end(JobThread::AtEnd at_end) {
  std::atomic<int> done = 0;
  {
    JobThread thread(10, at_end);
    std::promise<void> entered;
    thread.post([&](const std::stop_token& stop) {  // until the destructor says that it should hurry
      std::promise<void> stopped;
      const std::stop_callback on_stop(stop, [&] { stopped.set_value(); });
      entered.set_value();
      stopped.get_future().wait();
    });
    entered.get_future().wait();
    for (int i = 0; i < 5; ++i)
      thread.post([&](const std::stop_token& stop) { done += stop.stop_requested() ? 1 : 100; });
  }
  return done;
}

TEST(JobThread, FinishesWhatWaitsAtItsEnd) { EXPECT_EQ(done_after_the_end(JobThread::AtEnd::finish), 5); }
TEST(JobThread, DropsWhatWaitsAtItsEnd) { EXPECT_EQ(done_after_the_end(JobThread::AtEnd::drop), 0); }

}  // namespace
}  // namespace bloomwall
