// One thread's event loop: libevent's base, time-outs, deferred deletion, and post(), the only entry point for other
// threads. While healthy it turns at least once a second and says so through last_turn(): what the watchdog looks at.
// Call order: construct, hand out, run() on the loop's thread, stop(). Everything but post(), stop() and last_turn()
// belongs to that thread (or to the constructor's, before run()).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "proxy/io/handles.h"
#include "proxy/io/intrusive_list.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

// Destroys objects one turn of the loop later, so that no callback ever returns into a dead object.
// One per event loop; dies before the event_base. What a destructor hands over is deleted in the next turn.
// Thread: the loop's only.
class DeletedLater {
 public:
  virtual ~DeletedLater() = default;
};

class DeferredDeletion {
 public:
  explicit DeferredDeletion(event_base* base) {
    sweep_.assign(
        base, -1, 0, [](evutil_socket_t, short, void* self) { static_cast<DeferredDeletion*>(self)->sweep(); }, this);
  }
  void delete_later(std::unique_ptr<DeletedLater> dead) {  // the caller's stack may still be inside *dead
    if (dead == nullptr) return;
    pending_.push_back(std::move(dead));
    sweep_.trigger();
  }
  // Destroys what was handed over so far: on the loop's next turn, and at its end, when no callback is on the stack.
  void sweep() {
    auto batch = std::exchange(pending_, {});
    batch.clear();
  }
  bool empty() const { return pending_.empty(); }

 private:
  Event sweep_;
  std::vector<std::unique_ptr<DeletedLater>> pending_;
};

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

// Steps of TLS handshakes, which take 0.1 to 5 ms of the loop each, in the order they were asked for: each waits for
// the next turn, in which everybody whose socket is ready is served first; a turn runs steps for kMostOfTurn, or one,
// and the rest wait on. So a burst of handshakes does not delay established connections by more.
// Cost: a turn of the loop without waiting (epoll_wait with no time-out). Thread: the loop's.
class StepQueue {
 public:
  static constexpr std::chrono::microseconds kMostOfTurn{2000};

  // A member of the object that has a step to make; it waits at most once, and leaves with its owner. May destroy its
  // owner, or any other object by DeferredDeletion, and wait again.
  class Step : public ListLink<Step> {
   public:
    using Run = void (*)(void* self);
    Step(Run run, void* self) : run_(run), self_(self) {}
    bool is_waiting() const { return is_waiting_; }
    void cancel() {
      leave();
      is_waiting_ = false;
    }

   private:
    friend class StepQueue;
    Run run_;
    void* self_;
    bool is_waiting_ = false;
  };

  explicit StepQueue(EventLoop& loop);
  StepQueue(const StepQueue&) = delete;
  StepQueue& operator=(const StepQueue&) = delete;
  void add(Step& step);  // what waits already keeps its place

 private:
  void run();
  void wake_soon();

  Event wake_;
  bool will_wake_ = false;
  IntrusiveList<Step, Step> due_, next_;  // of this turn, those of the ones before it first; asked for since
};

}  // namespace bloomwall::proxy
