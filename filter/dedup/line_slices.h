// What passes between the threads of dedup: slices of whole lines, and the ring in which they keep their order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "filter/bits/section.h"
#include "filter/lists/list_input.h"
#include "filter/result.h"

namespace bloomwall::filter {

// Cuts a text into slices of whole lines for dedup. Every line ends with LF, the last one too; nothing else is changed.
// A line over kMaxDedupLine octets comes in pieces that are marked as such, so that neither its length nor a file
// without line ends costs memory, and no octet is lost.
// Memory: one slice and the beginning of a line, about kMaxDedupLine + kInputChunkBytes each. Not thread-safe.

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

// Passes slices from the reader to the hashing threads and on to the writer, in order. Each slot goes
// empty -> filled -> hashed -> empty; slice n lies in slot n % size. Each side can stop the ring: then every wait
// returns false.
struct HashedLine {
  Place place;
  std::uint32_t end = 0;  // offset behind its LF
  bool no_url = false;
};

struct RingSlot {
  LineSlice slice;
  std::vector<HashedLine> lines;
  enum class State : std::uint8_t { empty, filled, taken, hashed } state = State::empty;
};

class SliceRing {
 public:
  explicit SliceRing(std::size_t slots) : slots_(slots) {}

  // The reader: a slot to fill, then its hand-over; end() after the last.
  RingSlot* next_empty();
  void filled();
  void end();
  // For a hashing thread: the oldest slot that no thread has taken. Null at the end.
  RingSlot* next_filled();
  void hashed(RingSlot& slot);
  // The writer: the next slice in order, then its slot is free again. Null at the end.
  RingSlot* next_hashed();
  void written();
  void stop();

 private:
  RingSlot& slot(std::uint64_t n) { return slots_[n % slots_.size()]; }
  std::mutex mutex_;
  std::condition_variable emptied_, filled_, hashed_;
  std::vector<RingSlot> slots_;
  std::uint64_t read_ = 0, taken_ = 0, written_ = 0;  // slices so far
  bool ended_ = false, stopped_ = false;
};

}  // namespace bloomwall::filter
