// Lines in, each of them out the first time it is seen, in order. What is compared are the octets of a line without its
// LF, where a CR counts, or the URL that it spells (SeenSet::key()). Never lets a line through twice; drops a new line
// as "seen" at the error rate of its SeenSet.
//   one thread reads and cuts -> `threads` threads hash -> the calling thread asks, writes
// Slices pass through a ring, so that the output does not depend on the number of threads, memory is bounded, and a
// line comes out as soon as it is read. A line over kMaxDedupLine is written without a look-up, and counted.
// Speed: bounded by the slowest stage; asking and writing take some 70 ns a line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/bits/section.h"
#include "filter/result.h"
#include "filter/seen/seen_set.h"

namespace bloomwall::filter {

// How much memory the set of seen lines gets, and in which layout.
//   entries and fpr   the least memory that meets fpr once `entries` distinct lines are in (default kUsualSeenError)
//   memory            all of it, in the layout that errs less; entries tell what error to expect
//   nothing           kUsualMemory
// Where entries, fpr and memory are given, memory is a limit: unmet_target where the error can't be reached in it.
inline constexpr std::uint64_t kUsualMemory = 200'000'000;
// More than this at the end is a failure where nobody says how much may be.
inline constexpr double kMostDedupError = 1e-4;

struct DedupTarget {
  std::optional<std::uint64_t> entries = {};  // distinct lines expected
  std::optional<std::uint64_t> memory = {};   // bytes, at least a page
  std::optional<double> fpr = {};             // chance that a new line is taken for seen, at the end
};
Result<Geometry> choose_dedup_size(const DedupTarget& target);

struct DedupCounts {
  std::uint64_t lines_in = 0;
  std::uint64_t lines_out = 0;
  std::uint64_t bytes_in = 0;  // after decompression, a missing last LF added
  std::uint64_t bytes_out = 0;
  std::uint64_t too_long = 0;  // written unasked; part of lines_in and lines_out
  std::uint64_t no_url = 0;    // SeenKey::url: compared octet by octet; part of lines_in
  std::uint64_t distinct() const { return lines_out - too_long; }
};

// Takes whole lines (or pieces of one that is too long). False: the reader is gone.
using WriteLines = std::function<bool(std::string_view)>;

// Reads files ("-": stdin; compressed ones too) one after the other. `counts` are true even where it fails.
// Errors: those of ListInput; io "standard output" where `write` gave false.
Result<void> dedup(const std::vector<std::string>& files, unsigned threads, SeenSet& seen, const WriteLines& write,
                   DedupCounts& counts);

}  // namespace bloomwall::filter
