// One thread's event loop: libevent's base, time-outs, deferred deletion, and post(), the only entry point for other
// threads. While healthy it turns at least once a second and says so through last_turn(): what the watchdog looks at.
// Call order: construct, hand out, run() on the loop's thread, stop(). Everything but post(), stop() and last_turn()
// belongs to that thread (or to the constructor's, before run()).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "proxy/io/deferred_deletion.h"
#include "proxy/io/handles.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

class EventLoop {
 public:
  EventLoop();  // throws std::runtime_error where the kernel gives no epoll or eventfd
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void run();   // until stop(); what was posted before the stop is done
  void stop();  // any thread
  // Any thread: runs on the loop, in order. Rare messages only (snapshots, drain): it locks and allocates.
  void post(std::function<void()> message);
  Milliseconds last_turn() const { return Milliseconds(last_turn_.load(std::memory_order_relaxed)); }

  event_base* base() { return base_.get(); }
  TimerWheel& timers() { return timers_; }
  DeferredDeletion& deferred() { return deferred_; }

 private:
  void on_posted();
  void on_tick();
  static EventBasePtr make_base();

  EventBasePtr base_ = make_base();
  TimerWheel timers_;
  DeferredDeletion deferred_{base_.get()};
  UniqueFd wake_fd_;
  Event wake_, tick_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // guarded by mutex_
  std::atomic<Milliseconds::rep> last_turn_{0};
};

}  // namespace bloomwall::proxy
