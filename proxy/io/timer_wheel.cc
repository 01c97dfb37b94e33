// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/timer_wheel.h"

#include <time.h>

#include <algorithm>

namespace bloomwall::proxy {
namespace {

// The first tick at which `ms` has surely passed.
std::int64_t tick_after(std::int64_t ms) { return ms / TimerWheel::kTick + 1; }

}  // namespace

Milliseconds monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return Milliseconds(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

void Timer::set(Milliseconds after) {
  node_.timer = this;
  deadline_ = wheel_.clock_().count() + std::max<std::int64_t>(after.count(), 0);
  set_ = true;
  if (node_.next != nullptr) {
    if (visit_ <= deadline_) return;  // the wheel will find it too early and move it
    wheel_.unlink(*this);
  }
  wheel_.link(*this);
}

void Timer::hasten(Milliseconds after) {
  if (!set_ || deadline_ > wheel_.clock_().count() + after.count()) set(after);
}

void Timer::clear() {
  set_ = false;
  if (node_.next != nullptr) wheel_.unlink(*this);
}

TimerWheel::TimerWheel(Clock clock) : clock_(clock), tick_(clock().count() / kTick) {
  for (Timer::Link& slot : slots_) slot.prev = slot.next = &slot;
}

TimerWheel::~TimerWheel() {
  for (Timer::Link& slot : slots_) {
    while (slot.next != &slot) unlink(*static_cast<Timer::Node*>(slot.next)->timer);
  }
}

void TimerWheel::link(Timer& timer) {
  timer.visit_ = timer.deadline_;
  const std::int64_t tick = std::max(tick_after(timer.deadline_), tick_ + 1);
  Timer::Link& slot = slots_[static_cast<std::size_t>(tick) % kSlots];
  timer.node_.prev = slot.prev;
  timer.node_.next = &slot;
  slot.prev->next = &timer.node_;
  slot.prev = &timer.node_;
  ++linked_;
}

void TimerWheel::unlink(Timer& timer) {
  timer.node_.prev->next = timer.node_.next;
  timer.node_.next->prev = timer.node_.prev;
  timer.node_.prev = timer.node_.next = nullptr;
  --linked_;
}

void TimerWheel::advance() {
  const std::int64_t target = clock_().count() / kTick;
  // After a long sleep one revolution visits every timer there is.
  std::int64_t tick = std::max(tick_, target - static_cast<std::int64_t>(kSlots));
  while (tick < target) {
    ++tick;
    tick_ = tick;
    visit(slots_[static_cast<std::size_t>(tick) % kSlots]);
  }
}

void TimerWheel::visit(Timer::Link& slot) {
  if (slot.next == &slot) return;
  Timer::Link due;  // taken out whole: callbacks may link into the slot and unlink from here
  due.next = slot.next;
  due.prev = slot.prev;
  due.next->prev = &due;
  due.prev->next = &due;
  slot.next = slot.prev = &slot;
  while (due.next != &due) {
    Timer& timer = *static_cast<Timer::Node*>(due.next)->timer;
    unlink(timer);
    if (tick_after(timer.deadline_) > tick_) {
      link(timer);
      continue;
    }
    timer.set_ = false;
    timer.callback_(timer.self_);  // last use: the callback may destroy it
  }
}

}  // namespace bloomwall::proxy
