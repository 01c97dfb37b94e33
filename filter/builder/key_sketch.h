// Estimates the number of distinct keys in 64 KiB: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007) with 2^16
// registers, and the estimator without bias tables of Ertl, "New cardinality estimation algorithms for HyperLogLog
// sketches" (2017). Standard error 0.41 %, from a handful to beyond 10^15. All arithmetic but the last step is exact,
// so that equal keys in any order, on any number of threads and in any number of shards give equal estimates.
// EntrySketches holds one for each kind that has keys, for hosts and for marks, with the ranges that stand in a header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "filter/bits/key.h"
#include "filter/builder/key_store.h"
#include "filter/result.h"

namespace bloomwall::filter {

class DistinctSketch {
 public:
  static constexpr std::size_t kRegisters = std::size_t{1} << 16;
  static constexpr unsigned kMostRank = 63;

  void add(const Hash128& key) {
    const unsigned rank = rank_of(key);
    if (rank > floor_) raise(key.hi % kRegisters, rank);
  }
  void merge(const DistinctSketch& other);
  std::uint64_t estimate() const;

  // Writes the registers that are not zero, in the shorter of two forms (see the .cc file).
  void write(std::vector<std::byte>& out) const;
  // Takes its bytes off the front; false where write() can't have written them.
  bool read(std::span<const std::byte>& bytes);
  friend bool operator==(const DistinctSketch& a, const DistinctSketch& b) { return a.ranks_ == b.ranks_; }

 private:
  static unsigned rank_of(const Hash128& key);
  void raise(std::size_t at, unsigned rank);
  void find_floor();
  std::vector<std::uint8_t> ranks_;  // empty until the first key
  unsigned floor_ = 0;      // no register is below it, so nearly every key of a long stream costs one comparison
  std::size_t raised_ = 0;  // since floor_ was computed
};

// Not thread-safe: each thread has its own, merged at the end.
class EntrySketches {
 public:
  // A host entry, or the mark of a URL entry: `variant` as in H.
  void add_host(const Hash128& host, Variant variant);
  void add_labels(unsigned labels);  // of a name; 0, of an address, is no label count
  void add_key(Kind kind, const Hash128& key, unsigned depth) {
    kinds_[index_of(kind)].add(key);
    if (depth > max_depth_) max_depth_ = depth;
  }
  void merge(const EntrySketches& other);
  KeySummary summary() const;  // with `estimated` set

  std::vector<std::byte> serialise() const;
  static Result<EntrySketches> parse(std::span<const std::byte> bytes);  // errors: bad_section

 private:
  std::array<DistinctSketch, kKeyKindCount> kinds_;
  DistinctSketch hosts_, marks_;
  std::uint32_t mark_mask_ = 0;
  std::uint32_t min_labels_ = kNoLabels, max_labels_ = 0, max_depth_ = 0;
  static constexpr std::uint32_t kNoLabels = 256;
  static constexpr unsigned kMostLabels = 255;  // no host that a request may have comes near
};

// An upper bound of what serialise() returns.
inline constexpr std::uint64_t kMostSketchBytes = (kKeyKindCount + 2) * (DistinctSketch::kRegisters + 4) + 16;

// A sink that keeps only sketches, and passes hashes to its derived class. KeyEstimator needs only the
// sketches, to count entries in bounded memory.
class SketchingSink : public KeySink {
 public:
  explicit SketchingSink(const KeyMaker& keys);
  void add(const Entry& entry) final;
  void flush() override {}
  const EntrySketches& sketches() const { return sketches_; }

 private:
  // The bits of a host entry or a mark; may be called again with the same ones.
  virtual void take_host(const Hash128& /*host*/, Variant /*variant*/) {}
  virtual void take_key(Kind /*kind*/, const Hash128& /*key*/) {}  // of P or R

  // What was recently said about a host: lists name one host many times, and it need be said once.
  struct KnownHost {
    Hash128 key{};
    std::uint32_t variants = 0;
  };
  const Hash128& hash_of_host(const Entry& entry);
  void add_host(const Hash128& host, Variant variant);

  KeyMaker keys_;
  EntrySketches sketches_;
  std::string last_host_;
  Hash128 last_hash_{};
  std::vector<KnownHost> known_;  // by the low bits of the hash
};

class KeyEstimator final : public KeyStore {
 public:
  explicit KeyEstimator(const KeyMaker& keys) : keys_(keys) {}
  KeySink& sink(unsigned worker) override;
  Result<void> check() override { return {}; }
  EntrySketches sketches() const;  // while no sink is in use
  KeySummary summary() const { return sketches().summary(); }

 private:
  KeyMaker keys_;
  std::vector<std::unique_ptr<SketchingSink>> sinks_;
};

}  // namespace bloomwall::filter
