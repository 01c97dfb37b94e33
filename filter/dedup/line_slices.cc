// SPDX-License-Identifier: Apache-2.0
#include "filter/dedup/line_slices.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bloomwall::filter {

Result<bool> LineSlices::next(LineSlice& slice) {
  slice.text.clear();
  slice.too_long = slice.line_ends = false;
  while (true) {
    if (rest_.empty()) {
      const auto chunk = input_.next();
      if (!chunk) return unexpected(chunk.error());
      if (chunk->empty()) return finish(slice);
      rest_ = *chunk;
    }
    if (take(slice)) return true;
  }
}

// `end` octets of the rest belong to a line that is too long; what was kept of it comes first.
void LineSlices::take_piece(LineSlice& slice, std::size_t end) {
  const bool ends = end != std::string_view::npos;
  const std::string_view piece = ends ? rest_.substr(0, end + 1) : rest_;
  slice.text.append(tail_).append(piece);
  slice.too_long = true;
  slice.line_ends = ends;
  tail_.clear();
  in_long_line_ = !ends;
  rest_.remove_prefix(piece.size());
}

bool LineSlices::take(LineSlice& slice) {
  const std::size_t end = rest_.find('\n');
  if (in_long_line_ || tail_.size() + std::min(end, rest_.size()) > kMaxDedupLine) {
    take_piece(slice, end);
    return true;
  }
  if (end == std::string_view::npos) {
    tail_.append(rest_);
    rest_ = {};
    return false;
  }
  const std::size_t last = rest_.rfind('\n');
  slice.text.append(tail_).append(rest_.substr(0, last + 1));
  tail_.clear();
  rest_.remove_prefix(last + 1);
  return true;
}

bool LineSlices::finish(LineSlice& slice) {
  if (!in_long_line_ && tail_.empty()) return false;
  slice.text.append(tail_).push_back('\n');
  slice.too_long = slice.line_ends = in_long_line_;
  tail_.clear();
  in_long_line_ = false;
  return true;
}

RingSlot* SliceRing::next_empty() {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [&] { return stopped_ || slot(read_).state == RingSlot::State::empty; });
  return stopped_ ? nullptr : &slot(read_);
}

void SliceRing::filled() {
  const std::lock_guard lock(mutex_);
  slot(read_++).state = RingSlot::State::filled;
  filled_.notify_one();
}

void SliceRing::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  filled_.notify_all();
  hashed_.notify_all();
}

RingSlot* SliceRing::next_filled() {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [&] { return stopped_ || ended_ || taken_ < read_; });
  if (stopped_ || taken_ == read_) return nullptr;
  RingSlot& taken = slot(taken_++);
  taken.state = RingSlot::State::taken;
  return &taken;
}

void SliceRing::hashed(RingSlot& done) {
  const std::lock_guard lock(mutex_);
  done.state = RingSlot::State::hashed;
  hashed_.notify_one();
}

RingSlot* SliceRing::next_hashed() {
  std::unique_lock lock(mutex_);
  const auto is_ready = [&] { return slot(written_).state == RingSlot::State::hashed; };
  hashed_.wait(lock, [&] { return is_ready() || (ended_ && written_ == read_); });
  return is_ready() ? &slot(written_) : nullptr;
}

void SliceRing::written() {
  const std::lock_guard lock(mutex_);
  slot(written_++).state = RingSlot::State::empty;
  emptied_.notify_one();
}

void SliceRing::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  emptied_.notify_all();
  filled_.notify_all();
}

}  // namespace bloomwall::filter
