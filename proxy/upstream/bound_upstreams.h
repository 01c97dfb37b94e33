// Connections to origins and parents on which a client has logged in by NTLM or Negotiate. Such a login counts for the
// connection (RFC 4559 section 6): each leg of it must come on the same one, and whatever comes later is answered as
// this user's. So they belong to the client's connection: no other request ever goes out on them, they never enter the
// pool, and where one ends the client's connection ends as well, so that the client knows that it must log in again.
// At most kMost; one more takes the place of the oldest, with the same consequence.
// A member of what speaks HTTP/1 to the client; its owner is told only of what ends by itself. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "proxy/io/event_loop.h"
#include "proxy/io/transport.h"
#include "proxy/upstream/upstream.h"

namespace bloomwall::proxy {

class BoundUpstreams {
 public:
  static constexpr std::size_t kMost = 8;
  class Owner {
   public:
    virtual void on_bound_end() = 0;  // one has ended, or said something that nobody asked for

   protected:
    ~Owner() = default;
  };
  BoundUpstreams(EventLoop& loop, Owner& owner);
  ~BoundUpstreams();
  BoundUpstreams(const BoundUpstreams&) = delete;
  BoundUpstreams& operator=(const BoundUpstreams&) = delete;

  bool empty() const { return held_.empty(); }
  // Some have ended: the client's connection is to end with what it is doing.
  bool is_lost() const { return is_lost_; }
  void note_lost() { is_lost_ = true; }
  // Between two requests. UpstreamConnection::bound_as is set.
  void keep(UpstreamPtr upstream);
  // The one that is bound as `key` or as `of_parent`; an empty one stands for none. nullptr: there is none, or it is
  // lost since this moment.
  UpstreamPtr take(std::string_view key, std::string_view of_parent, Transport::Handler& user);
  void drop();  // all, without a word to the owner

 private:
  class Held;
  void on_end(Held& held);
  UpstreamPtr remove(Held& held);
  void close(Held& held);

  EventLoop& loop_;
  Owner& owner_;
  std::vector<std::unique_ptr<Held>> held_;
  bool is_lost_ = false;
};

}  // namespace bloomwall::proxy
