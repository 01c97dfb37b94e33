// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/credential_cache.h"

#include <utility>

namespace bloomwall::proxy {
namespace {

// Guesses must not drive out those who have logged in.
std::pair<bool, Milliseconds> rank(const CredentialCache::Result& result) {
  return {result.user != nullptr, result.since};
}

}  // namespace

void CredentialCache::put(const CredentialKey& key, Result result) {
  Shard& shard = shard_of(key);
  const std::scoped_lock lock(shard.mutex);
  if (shard.results.size() >= kMostOfShard && !shard.results.contains(key)) make_room(shard);
  shard.results.insert_or_assign(key, std::move(result));
}

void CredentialCache::make_room(Shard& shard) {
  constexpr int kLookedAt = 16;
  auto oldest = shard.results.begin();
  auto at = oldest;
  for (int i = 0; i < kLookedAt && at != shard.results.end(); ++i, ++at) {
    if (rank(at->second) < rank(oldest->second)) oldest = at;
  }
  shard.results.erase(oldest);
}

std::size_t CredentialCache::size() const {
  std::size_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::scoped_lock lock(shard.mutex);
    sum += shard.results.size();
  }
  return sum;
}

std::vector<CredentialCache::Row> CredentialCache::users() const {
  std::vector<Row> out;
  for (const Shard& shard : shards_) {
    const std::scoped_lock lock(shard.mutex);
    for (const auto& [key, result] : shard.results) {
      if (result.user != nullptr && !result.user->token) out.push_back({key, result});
    }
  }
  return out;
}

}  // namespace bloomwall::proxy
