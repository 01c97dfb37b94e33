// A descriptor that the kernel does not watch. Having no room for it is hard to come by, so it is refused for another
// reason here: it is an epoll over an epoll over ... a pipe, one more than the kernel puts up with. poll() sees through
// them.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <vector>

#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {
namespace {

using std::chrono::milliseconds;
using Now = std::chrono::steady_clock;

int control(const UniqueFd& epoll, int what, const UniqueFd& fd) {
  epoll_event readable{.events = EPOLLIN, .data = {}};
  return ::epoll_ctl(epoll.get(), what, fd.get(), &readable);
}

// Readable once there is something in the pipe.
class Tower {
 public:
  Tower() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    out_ = UniqueFd(ends[0]);
    in_ = UniqueFd(ends[1]);
    const UniqueFd* below = &out_;
    floors_.reserve(kMost);
    while (floors_.size() < kMost) {
      UniqueFd floor(::epoll_create1(EPOLL_CLOEXEC));
      if (control(floor, EPOLL_CTL_ADD, *below) != 0) break;
      floors_.push_back(std::move(floor));
      below = &floors_.back();
    }
    EXPECT_EQ(errno, ELOOP);
  }
  int top() const { return floors_.back().get(); }
  void fill() const { EXPECT_EQ(::write(in_.get(), "x", 1), 1); }
  // Now the kernel will have it.
  void take_out_a_floor() const {
    EXPECT_EQ(control(floors_[1], EPOLL_CTL_DEL, floors_[0]), 0);
    EXPECT_EQ(control(floors_[1], EPOLL_CTL_ADD, out_), 0);
  }

 private:
  static constexpr std::size_t kMost = 64;
  UniqueFd out_, in_;
  std::vector<UniqueFd> floors_;
};

class UnwatchedEvent : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    event_set_log_callback([](int, const char*) {});
  }
  static void TearDownTestSuite() { event_set_log_callback(nullptr); }
  UnwatchedEvent() {
    event.assign(
        loop.base(), tower.top(), EV_READ | EV_PERSIST,
        [](evutil_socket_t, short what, void* self) {
          auto& me = *static_cast<UnwatchedEvent*>(self);
          ++me.called;
          me.why = what;
          if (me.disarms) me.event.disarm();
        },
        this);
  }
  // How long it took; eight seconds if it does not come to that.
  Now::duration turn_until_called(int times) {
    const auto begun = Now::now();
    while (called < times && Now::now() - begun < std::chrono::seconds(8)) event_base_loop(loop.base(), EVLOOP_ONCE);
    return Now::now() - begun;
  }
  void turn_for(milliseconds time) {
    for (const auto end = Now::now() + time; Now::now() < end;) event_base_loop(loop.base(), EVLOOP_ONCE);
  }

  Tower tower;
  EventLoop loop;
  Event event;
  int called = 0;
  short why = 0;
  bool disarms = false;
};

TEST_F(UnwatchedEvent, IsLookedAtByTurns) {
  event.arm();
  event.arm();
  turn_for(milliseconds(150));
  EXPECT_EQ(called, 0) << "it is not ready yet";
  tower.fill();
  EXPECT_GE(turn_until_called(3), milliseconds(90)) << "looks cost system calls";
  EXPECT_EQ(called, 3);
  EXPECT_EQ(why, EV_READ);
}

TEST_F(UnwatchedEvent, IsWatchedAgainAsSoonAsTheKernelWill) {
  event.arm();
  tower.fill();
  turn_until_called(1);
  tower.take_out_a_floor();
  turn_until_called(3);
  EXPECT_LT(turn_until_called(103), milliseconds(2500)) << "a hundred looks take five seconds";
  event.disarm();
  called = 0;
  turn_for(milliseconds(120));
  EXPECT_EQ(called, 0);
}

TEST_F(UnwatchedEvent, IsLeftAloneOnceDisarmed) {
  tower.fill();
  event.arm();
  event.disarm();
  turn_for(milliseconds(150));
  EXPECT_EQ(called, 0);
  disarms = true;
  event.arm();
  turn_for(milliseconds(200));
  EXPECT_EQ(called, 1) << "its callback may disarm it";
}

TEST_F(UnwatchedEvent, IsForgottenWhenItGoes) {
  tower.fill();
  {
    Event brief;
    brief.assign(
        loop.base(), tower.top(), EV_READ, [](evutil_socket_t, short, void*) { FAIL() << "it is gone"; }, nullptr);
    brief.arm();
  }
  turn_for(milliseconds(150));
}

}  // namespace
}  // namespace bloomwall::proxy
