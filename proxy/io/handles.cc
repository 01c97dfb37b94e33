// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/handles.h"

#include <poll.h>

namespace bloomwall::proxy {

void Event::begin_polling() {
  poll_fallback_ = std::make_unique<PollFallback>();
  event_assign(
      &poll_fallback_->timer, event_.ev_base, -1, 0,
      [](evutil_socket_t, short, void* self) { static_cast<Event*>(self)->poll(); }, this);
  event_add(&poll_fallback_->timer, &kPollPeriod);
}

void Event::poll() {
  if (event_add(&event_, nullptr) == 0)
    return poll_fallback_.reset();  // libevent does not touch a timer after it has called its callback
  event_add(&poll_fallback_->timer, &kPollPeriod);
  const auto wanted = static_cast<short>(((event_.ev_events & EV_READ) != 0 ? POLLIN : 0) |
                                         ((event_.ev_events & EV_WRITE) != 0 ? POLLOUT : 0));
  pollfd socket{event_.ev_fd, wanted, 0};
  if (::poll(&socket, 1, 0) > 0) event_active(&event_, event_.ev_events & (EV_READ | EV_WRITE), 0);
}

}  // namespace bloomwall::proxy
