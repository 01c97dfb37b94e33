// c-ares on the event loop: one channel whose sockets and time-outs the loop watches. Asks for one name and one family,
// exactly as given: no search domains, no HOSTALIASES, no hosts file, no sorting of answers.
// A socket is closed once no query is open on it, and carries a bounded number of queries where c-ares can count them
// (1.20); older releases send overlapping queries from one source port.
// A fixed tick looks for queries that have timed out, because c-ares 1.18 walks all of them to find the next deadline.
// It also ends TCP connections on which nothing was received for kSilence: c-ares keeps a connection as long as any
// query is open on it, sends new queries on it, and 1.34 repeats on it those that have timed out, so that one stalled
// connection would keep every long answer away as long as clients ask for such names. Questions that lose their last
// try by that end as timed_out.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ares.h>

#include <chrono>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/dns/resolver.h"
#include "proxy/io/event_loop.h"
#include "proxy/io/handles.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

using AresChannelPtr = std::unique_ptr<ares_channeldata, FreeWith<ares_destroy>>;
using AresAddrinfoPtr = std::unique_ptr<ares_addrinfo, FreeWith<ares_freeaddrinfo>>;

class CaresChannel {
 public:
  static constexpr Milliseconds kSilence{3000};  // the server has the answer by then: it has sent the first part by UDP

  // `servers`: "ip" or "ip:port" each; empty: those of the system. Error: what c-ares or a server text objects to.
  static tl::expected<std::unique_ptr<CaresChannel>, std::string> create(EventLoop& loop,
                                                                         const std::vector<std::string>& servers);
  ~CaresChannel();  // open queries end with ResolveError::failed
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
  struct Asked {  // while c-ares has the question
    CaresChannel* channel;
    Asker* asker;
  };
  // One c-ares socket on the loop.
  struct Watch final : DeletedLater {
    CaresChannel* channel = nullptr;
    int fd = -1;
    bool is_tcp = false;
    Milliseconds heard{0};  // when something was received last, or else when the socket was opened
    Event event;
  };
  explicit CaresChannel(EventLoop& loop);
  void on_socket_state(int fd, bool readable, bool writable);
  void on_ready(Watch& watch, short what);
  void on_tick();
  void end_silent_connections();
  ResolveError error_of(int status) const;

  EventLoop& loop_;
  Timer tick_;              // set while anything is open
  bool is_ending_ = false;  // a silent connection, at this moment
  std::size_t open_ = 0;
  std::vector<std::unique_ptr<Watch>> watches_;
  AresChannelPtr channel_;  // last: its end still closes sockets through watches_
};

}  // namespace bloomwall::proxy
