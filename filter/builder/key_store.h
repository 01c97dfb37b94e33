// The destination of entries while lists are read. A build has two implementations of KeyStore: KeyCollector holds all
// keys in memory, KeyStream writes them into a file whose sizes are known.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "filter/file/header.h"
#include "filter/keys/keys.h"
#include "filter/kind.h"
#include "filter/result.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

using DistinctByKind = std::array<std::uint64_t, kKindCount>;  // by index_of(kind)

// The counts of a build, from which a filter is sized and its errors are predicted. Exact, or estimates.
struct KeySummary {
  bool estimated = false;  // the counts below are within about 1 %; what is covered is not known
  DistinctByKind distinct{};
  std::uint64_t hosts = 0;                      // distinct hosts in H, marked ones too
  std::uint64_t marks = 0;                      // distinct (host, mark) pairs
  std::uint32_t mark_mask = 0;                  // bit v for mark variant v
  std::uint8_t min_labels = 0, max_labels = 0;  // of names in H
  std::uint16_t max_depth = 0;                  // of D entries
  unsigned path_questions = 0;                  // see Header; of estimates the mean of all hosts, which is the least
  unsigned most_path_questions = 0;             // what worst_host() takes: of no host more is asked; 0: not known
  // Under a listed S or W parent: distinct host entries, and path entries (also under their own host's S; duplicates
  // count).
  std::uint64_t covered_hosts = 0, covered_paths = 0;

  std::uint64_t total() const;  // distinct entries
};

// The fields of a header that say how much there is: keys by kind (of one round), marks, hosts, ranges. Entries, which
// count duplicates too, are not touched.
void set_counts(Header& header, const KeySummary& summary);

// Takes entries on one thread.
class KeySink {
 public:
  virtual ~KeySink() = default;
  virtual void add(const Entry& entry) = 0;
  virtual void flush() = 0;  // makes the store see what was added; called by the thread that reads the lists
};

class KeyStore {
 public:
  virtual ~KeyStore() = default;
  // One sink a worker, for all lists. Not thread-safe; references stay valid.
  virtual KeySink& sink(unsigned worker) = 0;
  // Called by a worker's thread at the end of a list; afterwards other threads may read what it added. Thread-safe.
  virtual void end_worker() {}
  // Whether reading may continue; called by workers before every block, and between lists.
  virtual Result<void> check() = 0;
  // Distinct entries so far, while no sink is in use; nothing where that is not known.
  virtual std::optional<DistinctByKind> distinct_so_far() const { return std::nullopt; }
};

// Sees the keys of every entry that goes to the store: known-good lists (build_extras.h), exact side (exact_writer.h).
class KeyObserver {
 public:
  virtual ~KeyObserver() = default;
  // The greatest number of workers. Called before the other functions, never concurrently with them.
  virtual void expect_workers(unsigned workers) = 0;
  // By one thread for one worker at a time.
  virtual void seen(unsigned worker, const EntryKeys& keys) = 0;
  // The first error so far. Thread-safe.
  virtual Result<void> check() const = 0;
};

}  // namespace bloomwall::filter
