// A feed's two stages. Hosts first go through a small cache that merges what lists say about the same host in nearby lines
// (a URL list names one host over and over, and all names share a few parents); then hosts and keys wait in a batch for
// their shard, so that a lock is taken once for many.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "filter/builder/key_collector.h"
#include "filter/builder/key_shard.h"
#include "filter/keys/entry_keys.h"
#include "filter/keys/url_parts.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kKeysABatch = 64;
constexpr unsigned kCacheBits = 10;

void raise_to(std::atomic<std::uint32_t>& most, std::uint32_t value) {
  for (std::uint32_t seen = most.load(std::memory_order_relaxed); seen < value;) {
    if (most.compare_exchange_weak(seen, value, std::memory_order_relaxed)) return;
  }
}

void lower_to(std::atomic<std::uint32_t>& least, std::uint32_t value) {
  for (std::uint32_t seen = least.load(std::memory_order_relaxed); seen > value;) {
    if (least.compare_exchange_weak(seen, value, std::memory_order_relaxed)) return;
  }
}

}  // namespace

struct KeyCollector::Feed::State {
  explicit State(KeyCollector& owner)
      : collector(owner), cache(std::size_t{1} << kCacheBits), hosts(kShards), keys(kShards) {}

  KeyCollector& collector;
  std::vector<HostSlot> cache;               // by the low bits of the hash
  std::vector<std::vector<HostSlot>> hosts;  // batches by shard
  std::vector<std::vector<KeyItem>> keys;
  std::string last_host;
  HostKind last_kind = HostKind::name;
  Hash128 last_hash;

  template <typename Item>
  void hand_over(std::vector<Item>& batch, std::size_t shard) {
    Shard& to = *collector.shards_[shard];
    const std::lock_guard lock(to.mutex);
    for (const Item& item : batch) {
      if (!to.add(item)) collector.out_of_memory_.store(true, std::memory_order_relaxed);
    }
    batch.clear();
  }
  template <typename Item>
  void queue(std::vector<std::vector<Item>>& batches, const Item& item) {
    const std::size_t shard = shard_of(item.key);
    batches[shard].push_back(item);
    if (batches[shard].size() >= kKeysABatch) hand_over(batches[shard], shard);
  }
  HostSlot& cached(const Hash128& host) { return cache[host.lo & (cache.size() - 1)]; }
  // The cache slot of this host; what was there before goes to its shard. True where it was not there.
  bool make_room(const Hash128& host, const Hash128& parent) {
    HostSlot& slot = cached(host);
    if (slot.key == host) return false;
    if (slot.key != Hash128{}) queue(hosts, slot);
    slot = {.key = host, .parent = parent};
    return true;
  }
  Hash128 admit_host(const Entry& entry);
};

// Sees to it that the host and all its parents are known, and returns the host's hash.
Hash128 KeyCollector::Feed::State::admit_host(const Entry& entry) {
  const bool same = entry.host == last_host && entry.host_kind == last_kind && !last_host.empty();
  if (same && cached(last_hash).key == last_hash) return last_hash;
  const CanonicalUrl url = host_of(entry);
  UrlParts parts(url);
  UrlHashes hashes(collector.keys_, parts);
  if (!same) {
    last_host = entry.host;
    last_kind = entry.host_kind;
    last_hash = hashes.host(0);
    if (!parts.is_address()) {
      const auto labels = static_cast<std::uint32_t>(parts.labels(0));
      lower_to(collector.ranges_->min_labels, labels);
      raise_to(collector.ranges_->max_labels, labels);
    }
  }
  // From the last label up, so that the host itself is the last to enter and sure to be in the cache.
  for (std::size_t i = parts.suffixes(); i-- > 0;) {
    make_room(hashes.host(i), i + 1 < parts.suffixes() ? hashes.host(i + 1) : Hash128{});
  }
  return last_hash;
}

KeyCollector::Feed::Feed(KeyCollector& collector) : state_(std::make_unique<State>(collector)) {}
KeyCollector::Feed::Feed(Feed&&) noexcept = default;
KeyCollector::Feed::~Feed() {
  if (state_) flush();
}

void KeyCollector::Feed::add(const Entry& entry) {
  State& s = *state_;
  if (entry.kind == Kind::raw) {
    s.queue(s.keys, {.key = s.collector.keys_.raw(entry.path), .kind = Kind::raw});
    return;
  }
  const Hash128 host = s.admit_host(entry);
  const EntryKeys keys = keys_of(s.collector.keys_, entry, host);
  HostSlot& slot = s.cached(host);
  slot.variants |= 1U << keys.host_variant;
  if (!is_path_kind(entry.kind)) return;
  ++slot.path_entries;
  raise_to(s.collector.ranges_->max_depth, keys.depth);
  s.queue(s.keys, {.key = keys.key, .kind = keys.kind});
}

void KeyCollector::Feed::flush() {
  State& s = *state_;
  for (HostSlot& slot : s.cache) {
    if (slot.key != Hash128{}) s.queue(s.hosts, slot);
    slot = {};
  }
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    s.hand_over(s.hosts[shard], shard);
    s.hand_over(s.keys[shard], shard);
  }
}

}  // namespace bloomwall::filter
