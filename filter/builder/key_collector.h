// The keys of all entries, held in RAM and exact: duplicates cost nothing in the filter, counts are true, and the size
// of the filter is chosen when all is known. The strategy for everything that fits in RAM; larger builds need another
// one behind the same two steps (add entries, insert into a writer).
// Memory: 64 to 90 bytes for each distinct host or parent of one, 24 to 35 for each distinct P or R key.
// Threads: every thread has its own Inserter; all other calls come from one thread while no Inserter is in use. What
// comes out does not depend on the order of entries or the number of threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "filter/bits/key.h"
#include "filter/builder/key_store.h"
#include "filter/file/filter_writer.h"
#include "filter/file/memory.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

class KeyCollector final : public KeyStore {
 public:
  KeyCollector(const KeyMaker& keys, std::uint64_t ram_bytes);
  ~KeyCollector() override;

  // Takes entries on one thread. What was added counts for the collector after flush(), which the destructor calls too.
  class Inserter final : public KeySink {
   public:
    explicit Inserter(KeyCollector& collector);
    ~Inserter() override;
    Inserter(Inserter&&) noexcept;
    void add(const Entry& entry) override;
    void flush() override;

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

  bool out_of_memory() const { return out_of_memory_.load(std::memory_order_relaxed); }
  std::uint64_t ram_bytes() const { return budget_.total(); }
  KeySink& sink(unsigned worker) override;
  // Error `limit` once the budget is used up.
  Result<void> check() override;
  DistinctByKind distinct() const;
  std::optional<DistinctByKind> distinct_so_far() const override { return distinct(); }
  KeySummary summary(unsigned threads) const;
  // Inserts everything into the sections of the writer, which must have a section for each kind that is there.
  // False where `stop` said so.
  bool insert_into(FilterWriter& writer, unsigned threads, const std::function<bool()>& stop) const;

 private:
  struct Shard;
  struct Ranges;
  KeyMaker keys_;
  RamBudget budget_;
  std::atomic<bool> out_of_memory_ = false;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<Ranges> ranges_;
  std::vector<std::unique_ptr<Inserter>> inserters_;  // by worker
};

// A set of 128-bit hashes with something beside each: open addressing, linear probing, in the order of the hash.
// The slot where a hash belongs grows with the hash's high half, as its page in a section does; walking a table
// therefore writes a section nearly front to back instead of at random.
// Memory: between 1.5 and 2.2 slots a hash. Growth asks the budget first; while it grows the old slots stay, too.
// Safe against chosen input because the hashes are seeded with the series key. Not thread-safe.

// Slot has a member `Hash128 key` and is empty where that is zero; the hash that is zero is kept apart.
// `kSkipBits`: leading bits of the high half that all hashes of this table have in common.
template <typename Slot, unsigned kSkipBits>
class HashTable {
 public:
  explicit HashTable(RamBudget& budget) : budget_(&budget) {}
  ~HashTable() { budget_->give_back(slots_.size() * sizeof(Slot)); }
  HashTable(HashTable&& other) noexcept
      : budget_(other.budget_),
        slots_(std::move(other.slots_)),
        size_(other.size_),
        zero_(other.zero_),
        has_zero_(other.has_zero_) {
    other.slots_.clear();
  }
  HashTable& operator=(HashTable&&) = delete;

  struct Found {
    Slot* slot = nullptr;  // null: out of memory
    bool is_new = false;
  };
  Found find_or_add(const Hash128& key) {
    if (key == Hash128{}) return {&zero_, !std::exchange(has_zero_, true)};
    if ((size_ + 1) * kLoadDivisor > slots_.size() * kLoadFactor && !grow()) return {};
    Slot& slot = slots_[position(key)];
    const bool is_new = slot.key == Hash128{};
    if (is_new) {
      slot.key = key;
      ++size_;
    }
    return {&slot, is_new};
  }
  // For who is about to find or add many: the memory that each needs comes while others are waited for.
  void prefetch(const Hash128& key) const { __builtin_prefetch(slots_.data() + home(key), 1); }
  const Slot* find(const Hash128& key) const {
    if (key == Hash128{}) return has_zero_ ? &zero_ : nullptr;
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[position(key)];
    return slot.key == Hash128{} ? nullptr : &slot;
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    if (has_zero_) visit(zero_);
    for (const Slot& slot : slots_) {
      if (slot.key != Hash128{}) visit(slot);
    }
  }
  std::size_t size() const { return size_ + (has_zero_ ? 1 : 0); }

 private:
  static constexpr std::size_t kLoadFactor = 7;  // full at 7/10
  static constexpr std::size_t kLoadDivisor = 10;
  static constexpr std::size_t kFirstSlots = 64;

  // Where a key belongs; it stands there or behind it.
  std::size_t home(const Hash128& key) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>((Wide{key.hi << kSkipBits} * slots_.size()) >> 64);
  }
  std::size_t position(const Hash128& key) const {
    std::size_t at = home(key);
    while (slots_[at].key != Hash128{} && slots_[at].key != key) at = at + 1 == slots_.size() ? 0 : at + 1;
    return at;
  }
  bool grow() {
    const std::size_t wanted = slots_.empty() ? kFirstSlots : slots_.size() + slots_.size() / 2;
    if (!budget_->take(wanted * sizeof(Slot))) return false;
    std::vector<Slot> old(wanted);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != Hash128{}) slots_[position(slot.key)] = slot;
    }
    budget_->give_back(old.size() * sizeof(Slot));
    return true;
  }

  RamBudget* budget_;
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  Slot zero_{};
  bool has_zero_ = false;
};

}  // namespace bloomwall::filter
