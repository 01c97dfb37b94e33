// The slots and shards behind KeyCollector: hashes are dealt out by their top bits to shards with a lock each, in batches.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "filter/builder/hash_table.h"
#include "filter/builder/key_collector.h"

namespace bloomwall::filter {

inline constexpr unsigned kShardBits = 6;
inline constexpr std::size_t kShards = std::size_t{1} << kShardBits;
constexpr std::size_t shard_of(const Hash128& key) { return static_cast<std::size_t>(key.hi >> (64 - kShardBits)); }

// A host of an entry, or a parent of one (then without variants).
struct HostSlot {
  Hash128 key{};
  Hash128 parent{};                // all zero: none
  std::uint32_t variants = 0;      // bit v: variant v is to be set in H
  std::uint32_t path_entries = 0;  // saturates
};
struct KeySlot {
  Hash128 key{};
};
// A P or R key on its way to its shard.
struct KeyItem {
  Hash128 key{};
  Kind kind = Kind::raw;
};

struct KeyCollector::Shard {
  explicit Shard(RamBudget& budget) : hosts(budget), paths(budget), raw(budget) {}
  // False: out of memory; what did not fit is lost.
  bool add(const HostSlot& item);
  bool add(const KeyItem& item);

  std::mutex mutex;
  HashTable<HostSlot, kShardBits> hosts;
  HashTable<KeySlot, kShardBits> paths, raw;
  DistinctByKind distinct{};
  std::uint64_t listed_hosts = 0;  // with any variant
  std::uint64_t marks = 0;
  std::uint32_t variants = 0;  // all that occur
};

// Smallest and largest of what was seen; by all feeds.
struct KeyCollector::Ranges {
  std::atomic<std::uint32_t> min_labels = 256, max_labels = 0, max_depth = 0;
};

}  // namespace bloomwall::filter
