// SPDX-License-Identifier: Apache-2.0

#include "proxy/io/event_loop.h"

#include <event2/thread.h>
#include <sys/eventfd.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace bloomwall::proxy {
namespace {

constexpr timeval kTickPeriod{.tv_sec = 0, .tv_usec = TimerWheel::kTick * 1000};

}  // namespace

EventBasePtr EventLoop::make_base() {
  const EventConfigPtr config(event_config_new());
  if (config == nullptr) throw std::runtime_error("libevent: no configuration");
  // One thread per base, so it needs no locks. Without the changelist (EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST) each
  // change reaches epoll at once: a collected change could name a descriptor that was closed meanwhile and reused by
  // another thread.
  event_config_set_flag(config.get(), EVENT_BASE_FLAG_NOLOCK);
  event_config_require_features(config.get(), EV_FEATURE_O1);
  EventBasePtr base(event_base_new_with_config(config.get()));
  if (base == nullptr) throw std::runtime_error("libevent: no event base (are file descriptors exhausted?)");
  return base;
}

EventLoop::EventLoop() : wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!wake_fd_) throw std::runtime_error("eventfd: are file descriptors exhausted?");
  wake_.assign(
      base_.get(), wake_fd_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<EventLoop*>(self)->on_posted(); }, this);
  wake_.arm();
  tick_.assign(
      base_.get(), -1, EV_PERSIST, [](evutil_socket_t, short, void* self) { static_cast<EventLoop*>(self)->on_tick(); },
      this);
  tick_.arm(&kTickPeriod);
  last_turn_.store(monotonic_now().count(), std::memory_order_relaxed);
}

EventLoop::~EventLoop() {
  while (!deferred_.empty()) deferred_.sweep();
}

void EventLoop::run() { event_base_dispatch(base_.get()); }

void EventLoop::stop() {
  post([this] { event_base_loopbreak(base_.get()); });
}

void EventLoop::post(std::function<void()> message) {
  {
    const std::scoped_lock lock(mutex_);
    posted_.push_back(std::move(message));
  }
  const std::uint64_t one = 1;
  // Can only fail where the counter is full, and then the loop is awake anyway.
  [[maybe_unused]] const auto written = ::write(wake_fd_.get(), &one, sizeof one);
}

void EventLoop::on_posted() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_fd_.get(), &count, sizeof count);
  std::vector<std::function<void()>> batch;
  {
    const std::scoped_lock lock(mutex_);
    batch = std::exchange(posted_, {});
  }
  for (const auto& message : batch) message();
}

void EventLoop::on_tick() {
  last_turn_.store(monotonic_now().count(), std::memory_order_relaxed);
  timers_.advance();
}

// A timer of no time, and no triggered event: libevent runs those within the turn in which they are triggered.
StepQueue::StepQueue(EventLoop& loop) {
  wake_.assign(
      loop.base(), -1, 0, [](evutil_socket_t, short, void* self) { static_cast<StepQueue*>(self)->run(); }, this);
}

void StepQueue::wake_soon() {
  if (will_wake_) return;
  will_wake_ = true;
  constexpr timeval kAtOnce{};
  wake_.arm(&kAtOnce);
}

void StepQueue::add(Step& step) {
  if (step.is_waiting_) return;
  step.is_waiting_ = true;
  next_.push_back(step);
  wake_soon();
}

void StepQueue::run() {
  will_wake_ = false;
  while (!next_.empty()) due_.push_back(next_.front());
  const auto begin = std::chrono::steady_clock::now();
  while (!due_.empty()) {
    Step& step = due_.front();
    step.cancel();
    step.run_(step.self_);
    if (std::chrono::steady_clock::now() - begin >= kMostOfTurn) break;
  }
  if (!due_.empty() || !next_.empty()) wake_soon();
}

}  // namespace bloomwall::proxy
