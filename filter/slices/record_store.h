// The KeyStore of `map`: keeps the place of every key in the pages of a geometry, and gives them leaf by leaf,
// ascending, each once. Every worker has a buffer; a full one is sorted and rid of repeats, and where that frees too
// little, written to a temporary file without a name. So memory is bounded, and what comes out depends on the entries
// alone.
// Shapes: a record is 16 octets, the number of its leaf (of H, P, R, one after the other) and its value
// (leaf_records.h).
// Memory: ram_bytes, in equal parts; a leaf's records twice while they are given out. Disk: 16 octets a record of what
// does not fit, in tmp_dir.
// Errors: limit where the memory is below kLeastBuffer a worker, io, usage for a kind without a section, "interrupted".
// Threads: as KeyStore. Cost: some 150 ns a record, most of it sorting.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/handles.h"
#include "filter/builder/key_sketch.h"
#include "filter/builder/key_store.h"
#include "filter/file/memory.h"
#include "filter/slices/leaf_records.h"

namespace bloomwall::filter {

// All distinct, ascending. Exposed for tests; sorts in place, in huge ranges by their upper bits first.
using LeafRecord = RecordValue;  // leaf << kMostValueBits | value
std::size_t sort_unique(std::span<LeafRecord> records);

class RecordStore final : public KeyStore {
 public:
  static constexpr std::uint64_t kLeastBuffer = std::uint64_t{1} << 20;
  struct Options {
    std::uint64_t ram_bytes = 0;
    std::filesystem::path tmp_dir;
    unsigned threads = 1;  // the greatest number of workers
    const std::atomic<bool>* stop = nullptr;
  };
  static Result<std::unique_ptr<RecordStore>> create(const KeyMaker& keys, const LeafSpans& spans,
                                                     const Options& options);
  ~RecordStore() override;

  KeySink& sink(unsigned worker) override;
  Result<void> check() override;
  EntrySketches sketches() const;  // of all sinks, while none is in use

  // After the last entry, once: calls `leaf` for each leaf of the geometry, also empty ones, in order, with its values.
  using OnLeaf = std::function<Result<void>(std::span<const RecordValue> values)>;
  Result<void> give_out(const OnLeaf& leaf);

 private:
  class Sink;
  class Run;  // sorted records, in memory or in a file
  RecordStore(const KeyMaker& keys, const LeafSpans& spans, const Options& options);
  void fail(Error error);
  Result<void> spill(std::span<const LeafRecord> sorted);

  KeyMaker keys_;
  LeafSpans spans_;
  std::array<std::uint64_t, kPageSections.size()> first_leaf_{};
  std::uint64_t leaves_ = 0;
  Options options_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // of the next two
  std::optional<Error> first_error_;
  struct Spilled {
    UniqueFd file;
    std::uint64_t records = 0;
  };
  std::vector<Spilled> spilled_;
};

}  // namespace bloomwall::filter
