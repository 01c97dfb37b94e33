// How often each client asks: limits.requests_per_second, shared by every worker. A client may spend one second's requests
// at once and then gets its share as time passes (GCRA: one time stamp a client says it all).
// IPv6 clients are counted by their /64. Memory is bounded: kShards x kMostClients entries; where a shard is full somebody
// who did not ask for longest among a few is forgotten, which errs in favour of that client.
// Cost: a lock that a fraction of all clients share and a hash look-up, and nothing where there is no limit. Any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "proxy/io/timer_wheel.h"
#include "proxy/net/client_limits.h"

namespace bloomwall::proxy {

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

}  // namespace bloomwall::proxy
