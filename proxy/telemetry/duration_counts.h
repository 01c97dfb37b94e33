// How long things took, in buckets of a quarter of an octave, so that a quantile is known to within an eighth:
//   0 us, 1 us, 2 us ... 7 us, 8-9 us, 10-11 us, ..., up to two minutes; the last bucket holds all that is longer.
// Threads: as Count.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "proxy/telemetry/count.h"

namespace bloomwall::proxy {

class DurationCounts {
 public:
  static constexpr unsigned kOctaves = 27;
  static constexpr std::size_t kBuckets = std::size_t{kOctaves} * 4;
  using Values = std::array<std::uint64_t, kBuckets>;

  static constexpr std::size_t bucket_of(std::uint64_t microseconds) {
    if (microseconds < 4) return microseconds;  // the first octaves have fewer numbers than quarters
    const auto octave = static_cast<unsigned>(std::bit_width(microseconds)) - 1;
    const std::uint64_t quarter = (microseconds >> (octave - 2)) & 3;
    return std::min<std::size_t>((octave - 1) * std::size_t{4} + quarter, kBuckets - 1);
  }
  // The least number of microseconds in a bucket.
  static constexpr std::uint64_t start_of(std::size_t bucket) {
    return bucket < 4 ? bucket : (4 + bucket % 4) << (bucket / 4 - 1);
  }

  void count(std::chrono::microseconds took) {
    counts_[bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0)))].add();
  }
  void add(const DurationCounts& other) { add_table(counts_, other.counts_); }
  Values values() const {
    Values values{};
    for (std::size_t i = 0; i < kBuckets; ++i) values[i] = counts_[i].get();
    return values;
  }

 private:
  std::array<Count, kBuckets> counts_;
};

// Microseconds that `share` (0 to 1) of what was counted did not exceed; nothing: nothing was counted.
inline std::optional<std::uint64_t> quantile(const DurationCounts::Values& values, double share) {
  std::uint64_t all = 0;
  for (const std::uint64_t value : values) all += value;
  if (all == 0) return std::nullopt;
  const auto wanted =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(static_cast<double>(all) * share)));
  std::uint64_t seen = 0;
  std::size_t at = 0;
  while (at + 1 < values.size() && (seen += values[at]) < wanted) ++at;
  return (DurationCounts::start_of(at) + DurationCounts::start_of(at + 1)) / 2;
}

}  // namespace bloomwall::proxy
