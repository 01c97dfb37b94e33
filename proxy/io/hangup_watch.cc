// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/hangup_watch.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <span>

#include "proxy/io/tcp_transport.h"

namespace bloomwall::proxy {

HangupWatch::HangupWatch(EventLoop& loop) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) return;
  ready_.assign(
      loop.base(), epoll_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<HangupWatch*>(self)->on_ready(); }, this);
  ready_.arm();
}

void HangupWatch::add(int fd, TcpTransport& socket) {
  epoll_event wanted{.events = EPOLLET, .data = {.ptr = &socket}};  // errors and hang-ups need not be asked for
  if (epoll_) ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted);
}

void HangupWatch::remove(int fd) {
  if (epoll_) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

// A socket that a callback closes is destroyed on a later turn, so the pointers stay valid, and on_hangup() does
// nothing for it. EPOLLHUP without EPOLLERR means that both sides have ended the connection in order.
void HangupWatch::on_ready() {
  std::array<epoll_event, 64> events;  // NOLINT: filled as far as it is used
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (const epoll_event& event : std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
    if ((event.events & EPOLLERR) != 0) static_cast<TcpTransport*>(event.data.ptr)->on_hangup();
  }
}

}  // namespace bloomwall::proxy
