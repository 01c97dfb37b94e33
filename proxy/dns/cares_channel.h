// c-ares on the event loop: one channel whose sockets and time-outs the loop watches. Asks for one name and one family,
// exactly as given: no search domains, no HOSTALIASES, no hosts file, no sorting of answers.
// Sockets are closed as soon as they idle, so that each question leaves from a fresh port.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/dns/handles.h"
#include "proxy/dns/resolver.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class CaresChannel {
 public:
  // `servers`: "ip" or "ip:port" each; empty: those of the system. Error: what c-ares or a server text objects to.
  static tl::expected<std::unique_ptr<CaresChannel>, std::string> create(EventLoop& loop,
                                                                         const std::vector<std::string>& servers);
  ~CaresChannel();  // questions that are open are told ResolveError::failed
  CaresChannel(const CaresChannel&) = delete;
  CaresChannel& operator=(const CaresChannel&) = delete;

  // Told exactly once, perhaps before ask() returns.
  class Asker {
   public:
    virtual void on_answer(FamilyAnswer answer, std::chrono::seconds ttl) = 0;

   protected:
    ~Asker() = default;
  };
  void ask(const std::string& host, Family family, Asker& asker);  // the asker must live until it is told

 private:
  // One c-ares socket on the loop.
  struct Watch final : Buried {
    CaresChannel* channel = nullptr;
    int fd = -1;
    Event event;
  };
  explicit CaresChannel(EventLoop& loop);
  void on_socket_state(int fd, bool readable, bool writable);
  void on_ready(int fd, short what);
  void on_timeout();
  void set_timer();

  EventLoop& loop_;
  Timer timer_;
  std::vector<std::unique_ptr<Watch>> watches_;
  AresChannelPtr channel_;  // last: its end still closes sockets through watches_
};

}  // namespace bloomwall::proxy
