// Results of checks of credentials, by the credentials' keys (credential_key.h): the user, or none.
// Each result says under which edition of the sources (AuthenticationRules::edition) it is known to hold. Under another
// one it is not forgotten: find() asks once who that user is by now, and so a change of one user's line makes nobody
// else's password be checked again. Bounded: kShards x kMostOfShard entries of about 170 bytes; where a shard is full,
// of a few entries a no makes room, or else the oldest. find(): the lock of one shard and a hash look-up; no allocation
// under the edition it was last asked for. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "proxy/auth/credential_key.h"
#include "proxy/auth/user.h"

namespace bloomwall::proxy {

class CredentialCache {
 public:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kMostOfShard = 4096;

  struct Result {
    UserPtr user;            // nullptr: nobody's
    std::string spelt = {};  // the name as the client spells it
    std::uint64_t edition = 0;
    Milliseconds since{0};  // of the check, by the monotonic clock, which all processes of a machine share
  };
  struct Row {
    CredentialKey key{};
    Result result;
  };
  // How long results hold from their check on.
  struct Ages {
    Milliseconds yes{0}, no{0};
  };

  // Nothing: not known, or no longer; nullptr: nobody's. `still`: who the user of a Result is under `edition`, or
  // nullptr; asked where that was another's. A no ends with its edition.
  template <typename Still>
  std::optional<UserPtr> find(const CredentialKey& key, std::uint64_t edition, const Ages& ages, Milliseconds now,
                              const Still& still) {
    Shard& shard = shard_of(key);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.results.find(key);
    if (found == shard.results.end()) return std::nullopt;
    Result& known = found->second;
    const bool holds = now < known.since + (known.user == nullptr ? ages.no : ages.yes);
    if (holds && known.edition != edition && known.user != nullptr) {
      if (UserPtr user = still(known)) known = {std::move(user), std::move(known.spelt), edition, known.since};
    }
    if (holds && known.edition == edition) return known.user;
    shard.results.erase(found);
    return std::nullopt;
  }
  // For results that another edition ends.
  std::optional<UserPtr> find(const CredentialKey& key, std::uint64_t edition, const Ages& ages, Milliseconds now) {
    return find(key, edition, ages, now, [](const Result&) { return UserPtr(); });
  }
  void put(const CredentialKey& key, Result result);
  std::size_t size() const;
  std::vector<Row> users() const;  // those with a user, of which none has a token

 private:
  struct Hash {  // keys are random
    std::size_t operator()(const CredentialKey& key) const {
      std::size_t hash = 0;
      std::memcpy(&hash, key.data(), sizeof hash);
      return hash;
    }
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<CredentialKey, Result, Hash> results;  // guarded by mutex
  };
  static void make_room(Shard& shard);
  Shard& shard_of(const CredentialKey& key) { return shards_[key.back() % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace bloomwall::proxy
