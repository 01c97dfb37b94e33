// Inside filter/dedup: slices on their way from the reader over the hashing threads to the writer, in order.
// Each slot goes empty -> filled -> hashed -> empty; slice n lies in slot n % size. Any end can stop the ring: then every
// wait returns false.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "filter/bits/section.h"
#include "filter/dedup/line_slices.h"

namespace bloomwall::filter {

struct HashedLine {
  Place place;
  std::uint32_t end = 0;  // offset behind its LF
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
  // A hashing thread: the oldest slot that nobody has taken. Null at the end.
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
