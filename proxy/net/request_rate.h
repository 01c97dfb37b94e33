// Rate limit of requests per client: limits.requests_per_second, shared by all workers. GCRA with a burst of one
// second's requests; its state is one time stamp per client.
// IPv6 clients are counted by their /64. Memory is bounded: kShards x kMostClients entries; a full shard evicts the
// least recently seen of a few clients, which errs in that client's favour.
// Cost: the lock of one shard and a hash look-up; nothing where there is no limit. Any thread.
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
