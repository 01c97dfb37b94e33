// Lines in, each of them out the first time it is seen, in order. What is compared are the octets of a line without its
// LF; a CR counts. Never lets a line through twice; drops a new line as "seen" at the error rate of SeenLines.
//   one thread reads and cuts -> `threads` threads hash -> the calling thread asks, writes
// Slices travel in a ring, so that the output is that of one thread whatever the number of them, memory is bounded, and a
// line comes out as soon as it is read. A line over kMaxDedupLine is written without being asked about, and counted.
// Speed: bounded by the slowest stage; asking and writing take some 60 ns a line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/dedup/seen_lines.h"
#include "filter/result.h"

namespace bloomwall::filter {

struct DedupCounts {
  std::uint64_t lines_in = 0;
  std::uint64_t lines_out = 0;
  std::uint64_t bytes_in = 0;  // after decompression, a missing last LF added
  std::uint64_t bytes_out = 0;
  std::uint64_t too_long = 0;  // written unasked; part of lines_in and lines_out
  std::uint64_t distinct() const { return lines_out - too_long; }
};

// Takes whole lines (or pieces of one that is too long); false: nobody wants more.
using WriteLines = std::function<bool(std::string_view)>;

// Reads files ("-": stdin; compressed ones too) one after the other. `counts` are true even where it fails.
// Errors: those of ListInput; io "standard output" where `write` gave false.
Result<void> dedup(const std::vector<std::string>& files, unsigned threads, SeenLines& seen, const WriteLines& write,
                   DedupCounts& counts);

}  // namespace bloomwall::filter
