// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/credential_cache.h"

#include <utility>

namespace bloomwall::proxy {

std::optional<UserPtr> CredentialCache::find(const CredentialKey& key, std::uint64_t edition, Milliseconds now) {
  Shard& shard = shard_of(key);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end()) return std::nullopt;
  if (found->second.edition == edition && now < found->second.until) return found->second.user;
  shard.entries.erase(found);
  return std::nullopt;
}

void CredentialCache::put(const CredentialKey& key, std::uint64_t edition, UserPtr user, Milliseconds until) {
  Shard& shard = shard_of(key);
  const std::scoped_lock lock(shard.mutex);
  if (shard.entries.size() >= kMostOfShard && !shard.entries.contains(key)) make_room(shard);
  shard.entries.insert_or_assign(key, Entry{std::move(user), edition, until});
}

void CredentialCache::make_room(Shard& shard) {
  constexpr int kLookedAt = 16;
  auto first = shard.entries.begin();
  auto at = first;
  for (int i = 0; i < kLookedAt && at != shard.entries.end(); ++i, ++at) {
    if (at->second.until < first->second.until) first = at;
  }
  shard.entries.erase(first);
}

std::size_t CredentialCache::size() const {
  std::size_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::scoped_lock lock(shard.mutex);
    sum += shard.entries.size();
  }
  return sum;
}

}  // namespace bloomwall::proxy
