// Takes connections off one listening socket. When the process has no descriptor left it stops for a moment instead of
// spinning: the clients wait in the kernel's queue, and those that are connected are served on. The log is told once a
// minute for as long as that lasts.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "proxy/io/endpoint.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class Acceptor {
 public:
  class Handler {
   public:
    virtual void on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor& from) = 0;
    virtual void on_accept_paused() {}  // nothing can be taken off the queue for a moment

   protected:
    ~Handler() = default;
  };
  // `index`: of its listener in the configuration. `name`: for the log; empty: the address.
  Acceptor(EventLoop& loop, Handler& handler, ListeningSocket socket, std::size_t index = 0, std::string name = {});
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  void start();
  void hold();  // connections wait in the queue until start() is called again
  // Lets no handshake begin any more, accepts the connections in the queue, then closes, so that none of them is reset.
  // A socket that was passed by the service manager, or that another process `has_taken_over`, is left to that one with
  // its queue.
  void finish(bool has_taken_over = false);
  // Another descriptor of the same queue; not after finish(). Any thread.
  tl::expected<ListeningSocket, std::string> share_socket() const { return share(socket_); }
  const std::string& name() const { return name_; }  // "127.0.0.1:3128"
  std::size_t index() const { return index_; }
  bool is_of_every_address() const { return socket_.address.is_wildcard(); }

 private:
  void on_ready();
  bool accept_one();
  void pause(int error);

  EventLoop& loop_;
  Handler& handler_;
  ListeningSocket socket_;
  std::string name_;
  std::size_t index_;
  Event event_;
  Timer pause_;
  Milliseconds told_{0};  // when a pause was last logged; 0: never
};

}  // namespace bloomwall::proxy
