// Owners of what libevent hands out, beside those of base/handles.h. No *_free() or close() anywhere else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>

#include <memory>

#include "base/handles.h"

namespace bloomwall::proxy {

using EventBasePtr = std::unique_ptr<event_base, FreeWith<event_base_free>>;
using EventConfigPtr = std::unique_ptr<event_config, FreeWith<event_config_free>>;

// A libevent event stored in place (no allocation of its own). Neither copied nor moved: libevent holds its address.
// arm() and disarm() are idempotent. Arming a socket costs one epoll_ctl at most; what is already armed costs nothing.
// Poll fallback: where epoll_ctl fails (ENOSPC, ENOMEM), the socket is polled every kPollPeriod and epoll_ctl is tried
// again, until it succeeds. The event is then reported late, but it is reported.
class Event {
 public:
  Event() = default;
  ~Event() { disarm(); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  using Callback = void (*)(evutil_socket_t, short, void*);
  void assign(event_base* base, int fd, short what, Callback callback, void* self) {
    disarm();
    event_assign(&event_, base, fd, what, callback, self);
    assigned_ = true;
  }
  void arm(const timeval* after = nullptr) {
    if ((!armed_ || after != nullptr) && event_add(&event_, after) != 0) begin_polling();
    armed_ = true;
  }
  void disarm() {  // also cancels a triggered callback that has not run yet
    if (assigned_) event_del(&event_);
    poll_fallback_.reset();
    armed_ = false;
  }
  // Whether epoll has reported it in this turn and its callback has not run yet.
  bool is_due() const { return (event_.ev_evcallback.evcb_flags & EVLIST_ACTIVE) != 0; }
  // Runs the callback on the next turn of the loop without an event; does not change whether it is armed.
  void trigger() { event_active(&event_, EV_TIMEOUT, 0); }

  static constexpr timeval kPollPeriod{.tv_sec = 0, .tv_usec = 50'000};

 private:
  struct PollFallback {  // exists only while epoll does not watch the socket
    event timer{};
    ~PollFallback() { event_del(&timer); }
  };
  void begin_polling();
  void poll();

  event event_{};
  std::unique_ptr<PollFallback> poll_fallback_;
  bool assigned_ = false;
  bool armed_ = false;
};

}  // namespace bloomwall::proxy
