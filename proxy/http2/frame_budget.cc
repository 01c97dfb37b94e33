// SPDX-License-Identifier: Apache-2.0
#include "proxy/http2/frame_budget.h"

#include <algorithm>

namespace bloomwall::proxy {
namespace {

// RFC 9113 section 6. Frames of other types ask for nothing, whatever they are.
constexpr std::uint8_t kData = 0, kHeaders = 1, kContinuation = 9;
constexpr std::uint8_t kEndStream = 0x1, kEndHeaders = 0x4, kPadded = 0x8;
constexpr std::size_t kMostPadding = 256;  // octets of a frame, Pad Length included

}  // namespace

bool TokenBucket::spend(std::chrono::milliseconds now) {
  if (filled_.count() != 0 && now > filled_) earn(static_cast<std::uint64_t>((now - filled_).count()) * per_second_);
  filled_ = now;
  if (left_ < 1000) return false;
  left_ -= 1000;
  return true;
}

void TokenBucket::earn(std::uint64_t thousandths) { left_ = std::min(most_, left_ + thousandths); }

FrameBudget::Verdict FrameBudget::feed(std::span<const char> bytes, std::chrono::milliseconds now) {
  for (;;) {
    const std::size_t skipped = std::min(skip_, bytes.size());
    skip_ -= skipped;
    bytes = bytes.subspan(skipped);
    if (bytes.empty()) return Verdict::fine;
    frame_[used_++] = static_cast<std::uint8_t>(bytes.front());
    bytes = bytes.subspan(1);
    if (used_ < frame_.size()) continue;
    used_ = 0;
    skip_ = std::size_t{frame_[0]} << 16U | std::size_t{frame_[1]} << 8U | frame_[2];
    if (const Verdict verdict = on_frame(now); verdict != Verdict::fine) return verdict;
  }
}

// Of the frame whose head is in frame_, and whose length in skip_.
FrameBudget::Verdict FrameBudget::on_frame(std::chrono::milliseconds now) {
  const std::uint8_t type = frame_[3], flags = frame_[4];
  is_head_ = type == kHeaders || type == kContinuation;
  awaits_rest_ = is_head_ && (flags & kEndHeaders) == 0;
  switch (type) {
    case kHeaders:
      head_ = skip_;
      return head_ > most_head_ ? Verdict::endless_head : Verdict::fine;
    case kContinuation:
      head_ += skip_;
      if (head_ > most_head_) return Verdict::endless_head;
      break;
    case kData:
      if (skip_ > ((flags & kPadded) == 0 ? 0 : kMostPadding)) return Verdict::fine;
      if (skip_ == 0 && (flags & kEndStream) != 0) return Verdict::fine;  // there is one a stream
      break;
    default:
      break;
  }
  return frames_.spend(now) ? Verdict::fine : Verdict::empty_frames;
}

FrameBudget::Verdict FrameBudget::on_reset(std::chrono::milliseconds now) {
  return resets_.spend(now) ? Verdict::fine : Verdict::resets;
}

}  // namespace bloomwall::proxy
