// Timers for ten thousands of timeouts: setting, moving and clearing one is a few pointer writes, no system call.
// Resolution kTick; a timer never fires early and at most two ticks late. A hashed timing wheel: a timer further away
// than one revolution is examined once per revolution. Moving a timer later (the usual case, after traffic) only stores
// the new deadline; the wheel reinserts it when it reaches the old slot.
// The owner calls advance() once per tick. Thread: one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace bloomwall::proxy {

using Milliseconds = std::chrono::milliseconds;

// Monotonic time; a function so that tests can set it.
using Clock = Milliseconds (*)();
Milliseconds monotonic_now();  // CLOCK_MONOTONIC_COARSE: a few nanoseconds, never a system call, a few ms behind

class TimerWheel;

// A member of the object that it wakes. Destroying it clears it.
class Timer {
 public:
  using Callback = void (*)(void* self);
  Timer(TimerWheel& wheel, Callback callback, void* self) : wheel_(wheel), callback_(callback), self_(self) {}
  ~Timer() { clear(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void set(Milliseconds after);     // from now; replaces what was set
  void hasten(Milliseconds after);  // as set(), unless it comes earlier anyway
  void clear();
  bool is_set() const { return set_; }

 private:
  friend class TimerWheel;
  struct Link {
    Link* prev = nullptr;
    Link* next = nullptr;
  };
  struct Node : Link {
    Timer* timer = nullptr;
  };
  Node node_;
  TimerWheel& wheel_;
  Callback callback_;
  void* self_;
  std::int64_t deadline_ = 0;  // ms
  std::int64_t visit_ = 0;     // ms: when the wheel comes by; <= deadline_ while linked
  bool set_ = false;
};

class TimerWheel {
 public:
  static constexpr std::int64_t kTick = 50;  // ms
  explicit TimerWheel(Clock clock = monotonic_now);
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Fires what is due. Callbacks may set, clear and destroy any timer.
  void advance();
  bool empty() const { return linked_ == 0; }

 private:
  friend class Timer;
  static constexpr std::size_t kSlots = 1024;
  void link(Timer& timer);
  void unlink(Timer& timer);
  void visit(Timer::Link& slot);

  Clock clock_;
  std::array<Timer::Link, kSlots> slots_;
  std::int64_t tick_;  // last tick visited
  std::size_t linked_ = 0;
};

}  // namespace bloomwall::proxy
