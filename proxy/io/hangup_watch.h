// Notices that sockets are reset although nobody reads them: a client that has gone away while its request is answered.
// libevent can't: it reports a reset only to who waits for octets, and a socket with octets that nobody wants yet would be
// reported in every turn. So these sockets are in an epoll instance of their own, which waits for nothing but errors and
// hang-ups, each told once; that instance is one more event of the loop.
// Cost: one epoll_ctl for add() and for remove(). Where the kernel has no room for it nothing is noticed, and time-outs
// end what would have ended earlier. Thread: the loop's.
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

  // TcpTransport::on_hangup() is called when it has been reset, on a later turn also where it has been already. A connection that
  // was ended in order, by one side or both, is none. Closing the descriptor removes it.
  void add(int fd, TcpTransport& socket);
  void remove(int fd);

 private:
  void on_ready();
  UniqueFd epoll_;
  Event ready_;
};

}  // namespace bloomwall::proxy
