// Counts of client connections, in all and per address, shared by all workers.
// The total is one atomic; the count for each address takes a lock, once a connection, and only where that limit is
// set. IPv6 clients are counted by their /64, the usual assignment of one customer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "conf/config.h"
#include "proxy/dns/resolver.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

class ClientLimits {
 public:
  using Key = ResolvingClient;
  static Key key_of(const Endpoint& client);  // equal for connections that count as one client

  enum class Admission : std::uint8_t { admitted, full, client_full };
  // leave() must follow an admission, with the same address and `counted`.
  Admission enter(const Endpoint& client, const conf::Limits& limits, bool& counted);
  // The two halves of enter(), for clients whose address is known later (PROXY header).
  Admission enter_unnamed(const conf::Limits& limits);
  // Another client is about to be closed for this one: until then the count exceeds limits.client_connections by one.
  Admission enter_in_place(const Endpoint& client, const conf::Limits& limits, bool& counted);
  void enter_unnamed_in_place() { total_.fetch_add(1, std::memory_order_relaxed); }
  Admission name(const Endpoint& client, const conf::Limits& limits, bool& counted);
  void leave(const Endpoint& client, bool counted);

 private:
  std::atomic<std::uint64_t> total_{0};
  std::mutex mutex_;
  std::map<Key, std::uint32_t> by_client_;  // guarded by mutex_
};

}  // namespace bloomwall::proxy
