// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/key_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "filter/builder/key_shard.h"
#include "filter/builder/quantity.h"
#include "filter/parallel.h"

namespace bloomwall::filter {
namespace {

// A host that is listed so stops requests to its subdomains.
constexpr std::uint32_t kCoveringVariants = variant_bit(kVariantSuffix) | variant_bit(kVariantSubdomains);

// What one shard, then all of them, say about cover.
struct Cover {
  std::uint64_t hosts = 0, paths = 0;
  void operator+=(const Cover& other) {
    hosts += other.hosts;
    paths += other.paths;
  }
};

// Shards are ranges of the hash, and so are pages. Where no page straddles two shards each thread has its pages for itself.
bool has_pages_for_itself(const SectionWriter& section, unsigned threads) {
  return threads == 1 || section.geometry().pages % kShards == 0;
}

void insert_hosts(const HashTable<HostSlot, kShardBits>& hosts, SectionWriter& section, unsigned threads) {
  const bool exclusive = has_pages_for_itself(section, threads);
  hosts.for_each([&](const HostSlot& host) {
    if (host.variants == 0) return;
    const Place place = section.place(host.key);
    for (std::uint32_t left = host.variants; left != 0; left &= left - 1) {
      const auto variant = static_cast<Variant>(std::countr_zero(left));
      exclusive ? section.insert_exclusive(place, variant) : section.insert(place, variant);
    }
  });
}

void insert_keys(const HashTable<KeySlot, kShardBits>& keys, SectionWriter& section, unsigned threads) {
  const bool exclusive = has_pages_for_itself(section, threads);
  keys.for_each([&](const KeySlot& slot) {
    const Place place = section.place(slot.key);
    exclusive ? section.insert_exclusive(place) : section.insert(place);
  });
}

}  // namespace

bool KeyCollector::Shard::add(const HostSlot& item) {
  const auto [slot, is_new] = hosts.find_or_add(item.key);
  if (slot == nullptr) return false;
  if (item.parent != Hash128{}) slot->parent = item.parent;
  slot->path_entries = slot->path_entries > std::numeric_limits<std::uint32_t>::max() - item.path_entries
                           ? std::numeric_limits<std::uint32_t>::max()
                           : slot->path_entries + item.path_entries;
  const std::uint32_t fresh = item.variants & ~slot->variants;
  if (slot->variants == 0 && fresh != 0) ++listed_hosts;
  slot->variants |= fresh;
  variants |= fresh;
  for (const Kind kind : {Kind::suffix, Kind::exact_host, Kind::subdomains}) {
    distinct[index_of(kind)] += (fresh >> host_variant(kind)) & 1U;
  }
  marks += static_cast<std::uint64_t>(std::popcount(fresh & kMarkBits));
  return true;
}

bool KeyCollector::Shard::add(const KeyItem& item) {
  const auto [slot, is_new] = (item.kind == Kind::raw ? raw : paths).find_or_add(item.key);
  if (slot == nullptr) return false;
  if (is_new) ++distinct[index_of(item.kind)];
  return true;
}

KeyCollector::KeyCollector(const KeyMaker& keys, std::uint64_t ram_bytes)
    : keys_(keys), budget_(ram_bytes), ranges_(std::make_unique<Ranges>()) {
  for (std::size_t i = 0; i < kShards; ++i) shards_.push_back(std::make_unique<Shard>(budget_));
}

KeyCollector::~KeyCollector() = default;

KeySink& KeyCollector::sink(unsigned worker) {
  while (feeds_.size() <= worker) feeds_.push_back(std::make_unique<Feed>(*this));
  return *feeds_[worker];
}

Result<void> KeyCollector::check() {
  if (!out_of_memory()) return {};
  const DistinctByKind known = distinct();
  return unexpected(Error{
      Errc::limit,
      {},
      fmt::format("its keys do not fit in the {} of memory that a build may take; {} distinct entries did. "
                  "Free memory or raise --ram; with --entries and --hosts they stream into a file of that size instead",
                  format_bytes(ram_bytes()),
                  format_count(std::accumulate(known.begin(), known.end(), std::uint64_t{0})))});
}

DistinctByKind KeyCollector::distinct() const {
  DistinctByKind sum{};
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    for (std::size_t i = 0; i < kKindCount; ++i) sum[i] += shard->distinct[i];
  }
  return sum;
}

KeySummary KeyCollector::summary(unsigned threads) const {
  const auto find = [&](const Hash128& key) { return shards_[shard_of(key)]->hosts.find(key); };
  // Whether a host has a parent that stops it. Every parent of a host has a slot; a chain ends at a bare last label.
  const auto is_covered = [&](const HostSlot& host) {
    for (const HostSlot* up = &host; up != nullptr && up->parent != Hash128{};) {
      up = find(up->parent);
      if (up != nullptr && (up->variants & kCoveringVariants) != 0) return true;
    }
    return false;
  };
  std::vector<Cover> covers(kShards);
  for_each_index(kShards, threads, [&](std::size_t s) {
    Cover& cover = covers[s];
    shards_[s]->hosts.for_each([&](const HostSlot& host) {
      if (host.variants == 0) return;
      const bool by_parent = is_covered(host);
      const bool by_itself = (host.variants & variant_bit(kVariantSuffix)) != 0;
      if (by_parent) cover.hosts += static_cast<std::uint64_t>(std::popcount(host.variants & kHostKindBits));
      if (by_parent || by_itself) cover.paths += host.path_entries;
    });
  });
  KeySummary out{.distinct = distinct()};
  Cover total;
  for (const Cover& cover : covers) total += cover;
  out.covered_hosts = total.hosts;
  out.covered_paths = total.paths;
  for (const auto& shard : shards_) {
    out.hosts += shard->listed_hosts;
    out.marks += shard->marks;
    out.mark_mask |= shard->variants & kMarkBits;
  }
  out.max_labels = static_cast<std::uint8_t>(std::min(ranges_->max_labels.load(), 255U));
  out.min_labels = static_cast<std::uint8_t>(std::min<std::uint32_t>(ranges_->min_labels.load(), out.max_labels));
  out.max_depth = static_cast<std::uint16_t>(std::min(ranges_->max_depth.load(), 65535U));
  return out;
}

bool KeyCollector::insert_into(FilterWriter& writer, unsigned threads, const std::function<bool()>& stop) const {
  std::atomic<bool> stopped = false;
  for_each_index(kShards, threads, [&](std::size_t s) {
    if (stopped.load() || (stop && stop())) return stopped.store(true);
    const Shard& shard = *shards_[s];
    if (shard.hosts.size() > 0 && writer.hosts() != nullptr) insert_hosts(shard.hosts, *writer.hosts(), threads);
    if (shard.paths.size() > 0 && writer.paths() != nullptr) insert_keys(shard.paths, *writer.paths(), threads);
    if (shard.raw.size() > 0 && writer.raw() != nullptr) insert_keys(shard.raw, *writer.raw(), threads);
  });
  return !stopped.load();
}

}  // namespace bloomwall::filter
