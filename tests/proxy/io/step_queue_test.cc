// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/event_loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/turn_loop.h"

namespace bloomwall::proxy {
namespace {

using std::chrono::microseconds;

void burn(microseconds time) {
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
  }
}

class StepQueues : public testing::Test {
 protected:
  struct Waiting {
    explicit Waiting(std::function<void()> act) : acts(std::move(act)) {}
    std::function<void()> acts;
    StepQueue::Step step{[](void* self) { static_cast<Waiting*>(self)->acts(); }, this};
  };
  // A socket that has something to say in every turn, and what happened before it was heard.
  struct Stream {
    explicit Stream(EventLoop& loop, std::function<void()> act) : acts(std::move(act)) {
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) throw std::bad_alloc();
      ends[0] = UniqueFd(fds[0]);
      ends[1] = UniqueFd(fds[1]);
      [[maybe_unused]] const auto sent = ::send(fds[1], "x", 1, 0);  // and nobody reads it
      event.assign(
          loop.base(), fds[0], EV_READ | EV_PERSIST,
          [](evutil_socket_t, short, void* self) { static_cast<Stream*>(self)->acts(); }, this);
      event.arm();
    }
    std::function<void()> acts;
    int fds[2] = {-1, -1};
    UniqueFd ends[2];
    Event event;
  };

  EventLoop loop_;
  StepQueue queue_{loop_};
  std::string told_;
};

TEST_F(StepQueues, RunsStepsInTheirOrderAndNotWithinTheCall) {
  Waiting a([&] { told_ += 'a'; }), b([&] { told_ += 'b'; }), c([&] { told_ += 'c'; });
  for (Waiting* one : {&b, &a, &c, &b}) queue_.add(one->step);
  EXPECT_EQ(told_, "");
  c.step.cancel();
  test::turn_until(loop_, [&] { return told_.size() == 2; });
  EXPECT_EQ(told_, "ba");
  EXPECT_FALSE(a.step.is_waiting());
}

TEST_F(StepQueues, ServesReadySocketsBetweenTurns) {
  constexpr std::size_t kSteps = 20;
  const microseconds each = StepQueue::kMostOfTurn / 2;
  std::size_t run = 0, most = 0, since = 0;
  Stream stream(loop_, [&] {
    most = std::max(most, run - since);
    since = run;
  });
  std::vector<std::unique_ptr<Waiting>> burst;
  for (std::size_t i = 0; i < kSteps; ++i) {
    burst.push_back(std::make_unique<Waiting>([&] {
      burn(each);
      ++run;
    }));
    queue_.add(burst.back()->step);
  }
  test::turn_until(loop_, [&] { return run == kSteps; });
  EXPECT_GE(most, 1U);
  EXPECT_LE(most, 2U) << "as many as fit into its share of a turn";
}

TEST_F(StepQueues, GivesAStepThatTakesLongerATurnOfItsOwn) {
  std::size_t run = 0, most = 0, since = 0;
  Stream stream(loop_, [&] {
    most = std::max(most, run - since);
    since = run;
  });
  std::vector<std::unique_ptr<Waiting>> burst;
  for (std::size_t i = 0; i < 5; ++i) {
    burst.push_back(std::make_unique<Waiting>([&] {
      burn(2 * StepQueue::kMostOfTurn);
      ++run;
    }));
    queue_.add(burst.back()->step);
  }
  test::turn_until(loop_, [&] { return run == 5; });
  EXPECT_EQ(most, 1U);
}

TEST_F(StepQueues, MakeOneStepOfEachInATurn) {
  std::size_t turns = 0;
  Stream stream(loop_, [&] {
    ++turns;
    told_ += '.';
  });
  Waiting again([&] {
    told_ += 'a';
    if (std::ranges::count(told_, 'a') < 3) queue_.add(again.step);
  });
  Waiting once([&] { told_ += 'b'; });
  queue_.add(again.step);
  queue_.add(once.step);
  test::turn_until(loop_, [&] { return std::ranges::count(told_, 'a') == 3; });
  std::erase(told_, 'b');
  EXPECT_EQ(told_.find("aa"), std::string::npos) << told_;
}

TEST_F(StepQueues, ForgetsWhoIsGone) {
  auto first = std::make_unique<Waiting>([] {}), second = std::make_unique<Waiting>([&] { told_ += '2'; });
  auto third = std::make_unique<Waiting>([&] { told_ += '3'; });
  first->acts = [&] { second.reset(); };
  for (const auto* one : {&first, &second, &third}) queue_.add((*one)->step);
  test::turn_until(loop_, [&] { return !told_.empty(); });
  EXPECT_EQ(told_, "3");
}

}  // namespace
}  // namespace bloomwall::proxy
