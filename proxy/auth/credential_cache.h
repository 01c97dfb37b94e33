// Results of checks of credentials, by the credentials' keys (credential_key.h): the user, or none.
// Bounded: kShards x kMostOfShard entries of about 120 bytes; where a shard is full, of a few entries the one that ends
// first makes room. find(): the lock of one shard and a hash look-up, no allocation. Any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/units.h"
#include "proxy/auth/credential_key.h"
#include "proxy/auth/user.h"

namespace bloomwall::proxy {

class CredentialCache {
 public:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kMostOfShard = 4096;

  // What was said by the sources of that edition (AuthenticationRules::edition); nullptr: nobody's; nothing: not known,
  // or no longer.
  std::optional<UserPtr> find(const CredentialKey& key, std::uint64_t edition, Milliseconds now);
  void put(const CredentialKey& key, std::uint64_t edition, UserPtr user, Milliseconds until);
  std::size_t size() const;

 private:
  struct Entry {
    UserPtr user;
    std::uint64_t edition = 0;
    Milliseconds until{0};
  };
  struct Hash {  // keys are random
    std::size_t operator()(const CredentialKey& key) const {
      std::size_t hash = 0;
      std::memcpy(&hash, key.data(), sizeof hash);
      return hash;
    }
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<CredentialKey, Entry, Hash> entries;  // guarded by mutex
  };
  static void make_room(Shard& shard);
  Shard& shard_of(const CredentialKey& key) { return shards_[key.back() % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace bloomwall::proxy
