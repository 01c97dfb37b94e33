// The KeyStore of a counting filter: each entry changes the cells of its keys at once, from any number of threads.
// Holds nothing but some keys a thread, while their cells are fetched from memory.
// Counts of distinct keys follow the counters: a key that tested negative before it was added is new, one that tests
// negative after it was removed is gone. So they are off by the error of one question.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "filter/bits/counters.h"
#include "filter/builder/key_store.h"
#include "filter/file/filter_writer.h"
#include "filter/file/header.h"
#include "filter/file/prediction.h"

namespace bloomwall::filter {

enum class CellChange : std::uint8_t {
  add,
  remove,  // keys that are not there are counted and skipped
  probe,   // as remove, but nothing is changed
};

// The cells of a counting filter in memory, with a lock for each of some groups of pages.
struct CellSections {
  std::optional<CounterSection> hosts, paths, raw;
};

// What became of the entries of a store.
struct CellTally {
  std::array<std::uint64_t, kKindCount> entries{};   // that were added or removed, duplicates too
  std::array<std::uint64_t, kKindCount> distinct{};  // keys that came or went with them
  std::uint64_t not_there = 0;                       // removals of what tests negative
  std::uint64_t no_section = 0;                      // of a kind for which the filter has no section
  std::uint64_t hosts = 0, marks = 0;                // that came (or, hosts only, went)
  std::uint32_t mark_mask = 0;
  std::uint32_t min_labels = 256, max_labels = 0, max_depth = 0;
  void merge(const CellTally& other);
  std::uint64_t entry_count() const;
};

class CellStore final : public KeyStore {
 public:
  CellStore(const CellSections& sections, const Header& header, CellChange change);
  ~CellStore() override;
  KeySink& sink(unsigned worker) override;
  Result<void> check() override { return {}; }
  CellTally tally() const;  // of all sinks, after their flush()

 private:
  class Sink;
  CellSections sections_;
  KeyMaker keys_;
  CellChange change_;
  std::unique_ptr<std::array<std::mutex, 1024>> locks_;
  std::mutex sinks_mutex_;
  std::vector<std::unique_ptr<Sink>> sinks_;
};

// Brings the counts of a header up to what was added or removed.
void apply_tally(Header& header, const CellTally& tally, CellChange change);

// The cells of a counting file, read-only, for probing: a mapped file can't be written.
CellSections sections_of(const FilterFile& file);
// The cells of a file that is being written, with the geometries of `like`, or those that were planned.
CellSections sections_of(FilterWriter& writer, const FilterFile& like);
CellSections sections_of(FilterWriter& writer, const Geometries& geometries);

void add_cells(CellCounts& sum, const CellCounts& more);

}  // namespace bloomwall::filter
