// The keys of all entries, held in RAM and exact: duplicates cost nothing in the filter, counts are true, and the size
// of the filter is chosen when all is known. The strategy for everything that fits in RAM; larger builds need another
// one behind the same two steps (add entries, insert into a writer).
// Memory: 64 to 90 bytes for each distinct host or parent of one, 24 to 35 for each distinct P or R key.
// Threads: every thread has its own Inserter; all other calls come from one thread while no Inserter is in use. What
// comes out does not depend on the order of entries or the number of threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "filter/bits/key.h"
#include "filter/builder/key_store.h"
#include "filter/builder/memory.h"
#include "filter/file/filter_writer.h"
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

}  // namespace bloomwall::filter
