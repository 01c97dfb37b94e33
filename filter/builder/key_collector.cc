// SPDX-License-Identifier: Apache-2.0

#include "filter/builder/key_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/units.h"
#include "filter/keys/keys.h"
#include "filter/parallel.h"

namespace bloomwall::filter {
namespace {

// Hashes are distributed to shards by their top bits. Each shard has its own lock.
constexpr unsigned kShardBits = 6;
constexpr std::size_t kShards = std::size_t{1} << kShardBits;
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

}  // namespace

struct KeyCollector::Shard {
  explicit Shard(RamBudget& budget) : hosts(budget), paths(budget), raw(budget) {}
  // False: out of memory; what did not fit is lost.
  bool add(const HostSlot& item);
  bool add(const KeyItem& item);
  void prefetch(const HostSlot& item) const { hosts.prefetch(item.key); }
  void prefetch(const KeyItem& item) const { (item.kind == Kind::raw ? raw : paths).prefetch(item.key); }

  std::mutex mutex;
  HashTable<HostSlot, kShardBits> hosts;
  HashTable<KeySlot, kShardBits> paths, raw;
  DistinctByKind distinct{};
  std::uint64_t listed_hosts = 0;  // with any variant
  std::uint64_t marks = 0;
  std::uint32_t variants = 0;  // all that occur
};

// Least and greatest values that all inserters have seen.
struct KeyCollector::Ranges {
  std::atomic<std::uint32_t> min_labels = 256, max_labels = 0, max_depth = 0;
};

namespace {

// A host that is listed so stops requests to its subdomains.
constexpr std::uint32_t kCoveringVariants = variant_bit(kVariantSuffix) | variant_bit(kVariantSubdomains);

// What one shard, then all of them, say about hosts and their parents.
struct Relations {
  std::uint64_t covered_hosts = 0, covered_paths = 0;
  // Hosts with marks, by the questions to P that the deepest request to them asks; and of their path entries, each.
  std::array<std::uint64_t, kMostPathQuestions + 1> hosts_asked{};
  std::uint64_t path_entries = 0, asked_of_entries = 0;
  unsigned most_asked = 0;

  void operator+=(const Relations& other) {
    covered_hosts += other.covered_hosts;
    covered_paths += other.covered_paths;
    for (std::size_t i = 0; i < hosts_asked.size(); ++i) hosts_asked[i] += other.hosts_asked[i];
    path_entries += other.path_entries;
    asked_of_entries += other.asked_of_entries;
    most_asked = std::max(most_asked, other.most_asked);
  }
  void add_asked(unsigned questions, std::uint64_t entries) {
    ++hosts_asked[std::min(questions, kMostPathQuestions)];
    path_entries += entries;
    asked_of_entries += std::uint64_t{questions} * entries;
    most_asked = std::max(most_asked, questions);
  }
  unsigned path_questions() const;  // as Header has them
};

unsigned Relations::path_questions() const {
  if (path_entries == 0) return 0;
  const std::uint64_t hosts = std::accumulate(hosts_asked.begin(), hosts_asked.end(), std::uint64_t{0});
  std::uint64_t within = hosts_asked[0];
  unsigned at_p99 = 0;
  while (within < hosts - hosts / 100) within += hosts_asked[++at_p99];
  const std::uint64_t mean = (asked_of_entries + path_entries - 1) / path_entries;
  return std::min(kMostPathQuestions, std::max(at_p99, static_cast<unsigned>(mean)));
}

// Shards are ranges of the hash, and so are pages. Where no page straddles two shards each thread has its pages for
// itself.
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
  while (inserters_.size() <= worker) inserters_.push_back(std::make_unique<Inserter>(*this));
  return *inserters_[worker];
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
  const unsigned deepest = ranges_->max_depth.load();
  // The deepest mark stands for every depth from there on: each is a question.
  const auto questions_of = [deepest](std::uint32_t variants) {
    const bool any_deeper = (variants & variant_bit(directory_mark(kDeepestMark))) != 0 && deepest > kDeepestMark;
    return static_cast<unsigned>(std::popcount(variants & kMarkBits)) + (any_deeper ? deepest - kDeepestMark : 0U);
  };
  const auto find = [&](const Hash128& key) { return shards_[shard_of(key)]->hosts.find(key); };
  std::vector<Relations> relations(kShards);
  for_each_index(kShards, threads, [&](std::size_t s) {
    Relations& mine = relations[s];
    shards_[s]->hosts.for_each([&](const HostSlot& host) {
      if (host.variants == 0) return;
      const bool has_marks = (host.variants & kMarkBits) != 0;
      bool by_parent = false;
      unsigned asked = questions_of(host.variants);
      // Every parent of a host has a slot; a chain ends at a bare last label.
      for (const HostSlot* up = &host; up != nullptr && up->parent != Hash128{} && (has_marks || !by_parent);) {
        up = find(up->parent);
        if (up == nullptr) break;
        by_parent = by_parent || (up->variants & kCoveringVariants) != 0;
        asked += questions_of(up->variants);
      }
      const bool by_itself = (host.variants & variant_bit(kVariantSuffix)) != 0;
      if (by_parent) mine.covered_hosts += static_cast<std::uint64_t>(std::popcount(host.variants & kHostKindBits));
      if (by_parent || by_itself) mine.covered_paths += host.path_entries;
      if (has_marks) mine.add_asked(asked, host.path_entries);
    });
  });
  KeySummary out{.distinct = distinct()};
  Relations total;
  for (const Relations& of_shard : relations) total += of_shard;
  out.covered_hosts = total.covered_hosts;
  out.covered_paths = total.covered_paths;
  out.path_questions = total.path_questions();
  out.most_path_questions = total.most_asked;
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

namespace {

// An Inserter has two stages. A small cache merges what nearby lines say about the same host (a URL list names one host
// many times, and all names share a few parents). Then hosts and keys wait in a batch for their shard, so that the lock
// is taken once a batch.

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

struct KeyCollector::Inserter::State {
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
    for (const Item& item : batch) to.prefetch(item);
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
Hash128 KeyCollector::Inserter::State::admit_host(const Entry& entry) {
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

KeyCollector::Inserter::Inserter(KeyCollector& collector) : state_(std::make_unique<State>(collector)) {}
KeyCollector::Inserter::Inserter(Inserter&&) noexcept = default;
KeyCollector::Inserter::~Inserter() {
  if (state_) flush();
}

void KeyCollector::Inserter::add(const Entry& entry) {
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

void KeyCollector::Inserter::flush() {
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
