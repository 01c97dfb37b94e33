// Detects resets (RST) of sockets whose reads are paused: a client that leaves while its request is answered. libevent
// can't: it reports a reset only with read interest, and with read interest unread octets would be reported in every
// turn. So these sockets are in a second epoll instance, which reports errors and hang-ups only, each once
// (edge-triggered); that instance is one event of the loop.
// Cost: one epoll_ctl for add() and for remove(). Where epoll_ctl fails, resets are not noticed and timeouts end the
// connection later. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/io/event_loop.h"
#include "proxy/io/handles.h"

namespace bloomwall::proxy {

class TcpTransport;

class HangupWatch {
 public:
  explicit HangupWatch(EventLoop& loop);
  HangupWatch(const HangupWatch&) = delete;
  HangupWatch& operator=(const HangupWatch&) = delete;

  // Calls TcpTransport::on_hangup() when the connection is reset; if it was reset before, on a later turn. A connection
  // that was ended in order (FIN), by one side or both, does not count. Closing the descriptor removes it.
  void add(int fd, TcpTransport& socket);
  void remove(int fd);

 private:
  void on_ready();
  UniqueFd epoll_;
  Event ready_;
};

}  // namespace bloomwall::proxy
