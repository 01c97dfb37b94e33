// SPDX-License-Identifier: Apache-2.0

#include "proxy/upstream/client_limits.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace bloomwall::proxy {

ClientLimits::Key ClientLimits::key_of(const Endpoint& client) {
  Key key{};
  const Endpoint plain = client.unmapped();
  if (plain.is_v6()) {
    std::memcpy(key.data(), &plain.v6(), 8);
    key[15] = 6;  // apart from every IPv4 key
  } else {
    std::memcpy(key.data(), &plain.v4(), sizeof(in_addr));
  }
  return key;
}

ClientLimits::Admission ClientLimits::enter(const Endpoint& client, const conf::Limits& limits, bool& counted) {
  counted = false;
  if (const auto first = enter_unnamed(limits); first != Admission::admitted) return first;
  const auto second = name(client, limits, counted);
  if (second != Admission::admitted) total_.fetch_sub(1, std::memory_order_relaxed);
  return second;
}

ClientLimits::Admission ClientLimits::enter_in_place(const Endpoint& client, const conf::Limits& limits,
                                                     bool& counted) {
  enter_unnamed_in_place();
  const auto admission = name(client, limits, counted);
  if (admission != Admission::admitted) total_.fetch_sub(1, std::memory_order_relaxed);
  return admission;
}

ClientLimits::Admission ClientLimits::enter_unnamed(const conf::Limits& limits) {
  if (total_.fetch_add(1, std::memory_order_relaxed) < limits.client_connections) return Admission::admitted;
  total_.fetch_sub(1, std::memory_order_relaxed);
  return Admission::full;
}

ClientLimits::Admission ClientLimits::name(const Endpoint& client, const conf::Limits& limits, bool& counted) {
  counted = false;
  if (limits.connections_per_client == 0) return Admission::admitted;
  const std::scoped_lock lock(mutex_);
  std::uint32_t& count = by_client_[key_of(client)];
  if (count >= limits.connections_per_client) return Admission::client_full;
  ++count;
  counted = true;
  return Admission::admitted;
}

void ClientLimits::leave(const Endpoint& client, bool counted) {
  total_.fetch_sub(1, std::memory_order_relaxed);
  if (!counted) return;
  const std::scoped_lock lock(mutex_);
  const auto found = by_client_.find(key_of(client));
  if (found != by_client_.end() && --found->second == 0) by_client_.erase(found);
}

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

bool FairPlaces::take(const Endpoint& client, std::size_t most) {
  if (taken_ >= most) return false;
  const auto place = by_client_.try_emplace(ClientLimits::key_of(client), 0).first;
  if (place->second >= most - taken_) return false;
  ++place->second;
  ++taken_;
  return true;
}

void FairPlaces::give(const Endpoint& client) {
  const auto place = by_client_.find(ClientLimits::key_of(client));
  --taken_;
  if (--place->second == 0) by_client_.erase(place);
}

}  // namespace bloomwall::proxy
