// Counts of client connections, in all and per address, shared by all workers.
// The total is one atomic; the count for each address takes a lock, once a connection, and only where that limit is
// set. IPv6 clients are counted by their /64, the usual assignment of one customer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "conf/config.h"
#include "proxy/dns/resolver.h"
#include "proxy/io/endpoint.h"
#include "proxy/io/timer_wheel.h"

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

// Rate limit of requests per client: limits.requests_per_second, shared by all workers. GCRA with a burst of one
// second's requests; its state is one time stamp per client.
// IPv6 clients are counted by their /64. Memory is bounded: kShards x kMostClients entries; a full shard evicts the
// least recently seen of a few clients, which errs in that client's favour.
// Cost: the lock of one shard and a hash look-up; nothing where there is no limit. Any thread.
class RequestRate {
 public:
  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kMostClients = 8192;  // of one shard

  explicit RequestRate(Clock clock = monotonic_now) : clock_(clock) {}
  // Whether one more request of this client is within `per_second` (> 0); counts it if so.
  bool allow(const Endpoint& client, std::uint32_t per_second);
  std::size_t clients() const;  // remembered now

 private:
  using Key = ClientLimits::Key;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>{}({reinterpret_cast<const char*>(key.data()), key.size()});
    }
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<Key, std::int64_t, Hash> due;  // guarded by mutex; microseconds: when its share is whole again
  };
  static void make_room(Shard& shard);

  Clock clock_;
  std::array<Shard, kShards> shards_;
};

// Bounds what goes on at one time, with the clients that it goes on for: one may begin more only while it has less than
// is left for all (Choudhury, Hahne: Dynamic queue length thresholds, 1998). So a client alone gets half, and however
// many clients take all they can, a new one gets a place.
// Thread: one.
class FairPlaces {
 public:
  bool take(const Endpoint& client, std::size_t most);  // false: there is none for this client
  void give(const Endpoint& client);                    // one that was taken
  std::size_t taken() const { return taken_; }

 private:
  std::map<ClientLimits::Key, std::size_t> by_client_;
  std::size_t taken_ = 0;
};

}  // namespace bloomwall::proxy
