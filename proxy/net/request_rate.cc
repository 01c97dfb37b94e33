// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/request_rate.h"

#include <algorithm>
#include <chrono>

namespace bloomwall::proxy {
namespace {

constexpr std::int64_t kSecond = 1'000'000;  // in microseconds
constexpr int kLookedAt = 16;                // candidates for eviction

}  // namespace

bool RequestRate::allow(const Endpoint& client, std::uint32_t per_second) {
  const std::int64_t now = std::chrono::duration_cast<std::chrono::microseconds>(clock_()).count();
  const std::int64_t each = std::max<std::int64_t>(kSecond / per_second, 1);
  const Key key = ClientLimits::key_of(client);
  Shard& shard = shards_[Hash{}(key) % kShards];
  const std::scoped_lock lock(shard.mutex);
  auto found = shard.due.find(key);
  if (found == shard.due.end()) {
    if (shard.due.size() >= kMostClients) make_room(shard);
    found = shard.due.try_emplace(key, now).first;
  }
  const std::int64_t due = std::max(found->second, now) + each;
  if (due > now + std::max(kSecond, each)) return false;
  found->second = due;
  return true;
}

void RequestRate::make_room(Shard& shard) {
  auto oldest = shard.due.begin();
  auto at = oldest;
  for (int i = 0; i < kLookedAt && at != shard.due.end(); ++i, ++at) {
    if (at->second < oldest->second) oldest = at;
  }
  shard.due.erase(oldest);
}

std::size_t RequestRate::clients() const {
  std::size_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::scoped_lock lock(shard.mutex);
    sum += shard.due.size();
  }
  return sum;
}

}  // namespace bloomwall::proxy
