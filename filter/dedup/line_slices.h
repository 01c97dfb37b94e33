// A text cut into slices of whole lines, every line ended by LF (the last one too), nothing else changed: what dedup reads.
// A line over kMaxDedupLine octets is handed on unseen, in pieces marked as such, so that neither its length nor a file
// without line ends costs memory, and no octet is ever lost.
// Memory: one slice and the beginning of a line, about kMaxDedupLine + kInputChunkBytes each. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "filter/lists/list_input.h"
#include "filter/result.h"

namespace bloomwall::filter {

inline constexpr std::size_t kMaxDedupLine = std::size_t{1} << 20;
static_assert(kInputChunkBytes <= kMaxDedupLine, "a line that is longer shows by going on in the next chunk");

struct LineSlice {
  std::string text;        // not empty
  bool too_long = false;   // a piece of a line over kMaxDedupLine; else whole lines
  bool line_ends = false;  // of a line that is too long: its last piece
};

class LineSlices {
 public:
  explicit LineSlices(ListInput& input) : input_(input) {}
  // Fills `slice` (its capacity is reused). False at the end. A slice is handed on as soon as it can be read.
  Result<bool> next(LineSlice& slice);

 private:
  bool take(LineSlice& slice);
  void take_piece(LineSlice& slice, std::size_t end);
  bool finish(LineSlice& slice);
  ListInput& input_;
  std::string_view rest_;  // of the chunk at hand
  std::string tail_;       // the beginning of a line that goes on in the next chunk
  bool in_long_line_ = false;
};

}  // namespace bloomwall::filter
