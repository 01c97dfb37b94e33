// Steps of TLS handshakes, which take 0.1 to 5 ms of the loop each, in the order they were asked for: each waits for
// the next turn, in which everybody whose socket is ready is served first; a turn runs steps for kMostOfTurn, or one,
// and the rest wait on. So a burst of handshakes does not delay established connections by more.
// Cost: a turn of the loop without waiting (epoll_wait with no time-out). Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "proxy/io/event_loop.h"
#include "proxy/io/handles.h"
#include "proxy/io/intrusive_list.h"

namespace bloomwall::proxy {

class StepQueue {
 public:
  static constexpr std::chrono::microseconds kMostOfTurn{2000};

  // A member of whoever has a step to make; it waits at most once, and leaves with its owner. May destroy its owner, or
  // any other, in the way of that (DeferredDeletion), and wait again.
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
