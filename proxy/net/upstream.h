// Connections to origins and parents, and the pool in which a worker keeps those that may carry another request.
// A connection enters the pool only after an exact message end, and leaves it by being taken (the one used last first, so
// that spare ones age and go), or by being closed: after a time, when it becomes readable, because nothing it could say
// now is an answer to us, or when there is no room (set_limits()).
// Cost: make() one hash look-up, take() one, put() none. Thread: the loop's. The pool outlives its connections.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "proxy/http/counters.h"
#include "proxy/io/endpoint.h"
#include "proxy/io/intrusive_list.h"
#include "proxy/io/stream.h"
#include "proxy/net/redirection.h"

namespace bloomwall::proxy {

class UpstreamPool;
class UpstreamConnection;
struct IdleOfHost;  // tags of the two lists an idle connection is in
struct IdleByAge;

// What connections with the same key share. Lives while there is one.
struct UpstreamHost {
  std::string_view key;
  std::size_t members = 0;  // busy or idle
  std::size_t idle_count = 0;
  IntrusiveList<UpstreamConnection, IdleOfHost> idle;  // used last first
};

// One connected socket. Busy: its stream speaks to an exchange or a tunnel. Idle: to the pool.
class UpstreamConnection final : public Buried,
                                 public ListLink<IdleOfHost>,
                                 public ListLink<IdleByAge>,
                                 Stream::Handler {
 public:
  UpstreamConnection(IoContext& io, UpstreamPool& pool, UpstreamHost& host, UniqueFd fd, const Endpoint& peer,
                     Stream::Handler& user);
  ~UpstreamConnection() override;

  Stream stream;
  const Endpoint peer;
  std::string peer_text;  // for logs
  bool reused = false;    // it has carried a request before this one

 private:
  friend class UpstreamPool;
  std::size_t on_data(std::span<const char> bytes) override;
  void on_end() override;
  void on_drained() override {}
  void on_write_failed(int error) override;
  void on_failed(int error) override;

  UpstreamPool& pool_;
  UpstreamHost& host_;
  OwnConnections::Entry entry_;
  Timer expiry_;
};
using UpstreamPtr = std::unique_ptr<UpstreamConnection>;

class UpstreamPool {
 public:
  // `own`: told of every connection; nullptr: nobody asks.
  UpstreamPool(IoContext& io, Counters& counters, OwnConnections* own = nullptr)
      : io_(io), counters_(counters), own_(own) {}
  ~UpstreamPool() { clear(); }
  UpstreamPool(const UpstreamPool&) = delete;
  UpstreamPool& operator=(const UpstreamPool&) = delete;

  // `key` says where the connection leads and how; only equal keys share connections. The stream reads from now on.
  UpstreamPtr make(UniqueFd fd, const Endpoint& peer, std::string_view key, Stream::Handler& user);
  UpstreamPtr take(std::string_view key, Stream::Handler& user);  // nullptr: none is idle
  void put(UpstreamPtr connection, Milliseconds keep_for);
  void clear();
  void set_limits(std::size_t most_idle, std::size_t most_idle_per_host);  // 0: nothing is kept

 private:
  friend class UpstreamConnection;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  UpstreamPtr remove(UpstreamConnection& connection);
  void drop(UpstreamConnection& connection);
  void forget(UpstreamHost& host);

  IoContext& io_;
  Counters& counters_;
  OwnConnections* const own_;
  std::unordered_map<std::string, UpstreamHost, Hash, std::equal_to<>> hosts_;
  IntrusiveList<UpstreamConnection, IdleByAge> by_age_;  // owns what is idle; idle for longest first
  std::size_t idle_ = 0;
  std::size_t most_idle_ = 4096, most_idle_per_host_ = 128;
};

}  // namespace bloomwall::proxy
