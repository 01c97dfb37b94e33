// Cuts the chunks of a ListInput into blocks of whole lines, so that blocks can be parsed apart from each other, on several
// threads if need be. Bytes are copied once, from the chunk into the block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "filter/lists/list_input.h"
#include "filter/result.h"

namespace bloomwall::filter {

struct LineBlock {
  std::uint64_t first_line = 1;  // number of its first line
  std::string text;              // whole lines, LF at their ends; the last line of a file may lack it
};

// Not thread-safe; one per input.
class LineBlocks {
 public:
  enum class Mark : std::uint8_t { drop, keep };  // a UTF-8 byte order mark at the start
  explicit LineBlocks(ListInput& input, Mark mark = Mark::drop) : input_(input), drops_mark_(mark == Mark::drop) {}
  // Fills `block` (its capacity is reused) with at least one line, at most about kInputChunkBytes + kMaxLineBytes.
  // False at the end. A line over kMaxLineBytes may be handed on cut, but has kMaxLineBytes + 1 bytes at least
  // without what LineWalk takes off.
  Result<bool> next(LineBlock& block);

 private:
  void keep(std::string_view unfinished);
  void hand_over(LineBlock& block, std::string_view whole_lines);
  ListInput& input_;
  std::string tail_;  // the beginning of a line that goes on in the next chunk
  std::uint64_t next_line_ = 1;
  bool drops_mark_;  // at the start, where nothing was handed over yet
};

}  // namespace bloomwall::filter
