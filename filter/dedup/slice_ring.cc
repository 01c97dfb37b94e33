// SPDX-License-Identifier: Apache-2.0
#include "filter/dedup/slice_ring.h"

namespace bloomwall::filter {

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
