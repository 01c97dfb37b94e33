// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/byte_ring.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/whole_pages.h"

namespace bloomwall::proxy {

ByteRing::ByteRing(std::size_t capacity)
    : mask_(std::bit_ceil(std::max<std::size_t>(capacity, 64)) - 1),
      bytes_(new char[mask_ + 1]) {}  // not make_unique: it would write to every page

bool ByteRing::push(std::string_view line) noexcept {
  const std::uint64_t head = head_.load(std::memory_order_relaxed);
  if (line.size() > capacity() - (head - seen_tail_)) {
    seen_tail_ = tail_.load(std::memory_order_acquire);
    if (line.size() > capacity() - (head - seen_tail_)) return false;
  }
  if (head - start_ >= kStartOver && tail_.load(std::memory_order_acquire) == head) start_over(head);
  const std::size_t at = place_of(head);
  const std::size_t first = std::min(line.size(), capacity() - at);
  std::memcpy(bytes_.get() + at, line.data(), first);
  if (first < line.size()) std::memcpy(bytes_.get(), line.data() + first, line.size() - first);
  // Sequentially consistent: the producer goes on to look whether the consumer sleeps, and must not look before this.
  head_.store(head + line.size(), std::memory_order_seq_cst);
  return true;
}

void ByteRing::start_over(std::uint64_t head) noexcept {
  const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(head - start_, capacity()));
  if (used > kKept) {  // seldom; whole pages only, and a later write finds them empty
    const auto pages = whole_pages_within(std::as_writable_bytes(std::span(bytes_.get() + kKept, used - kKept)));
    if (!pages.empty()) ::madvise(pages.data(), pages.size(), MADV_DONTNEED);
  }
  start_ = seen_tail_ = head;
}

std::array<std::string_view, 2> ByteRing::readable() const noexcept {
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  const auto waiting = static_cast<std::size_t>(head_.load(std::memory_order_seq_cst) - tail);
  if (waiting == 0) return {};
  const std::size_t at = place_of(tail);
  const std::size_t first = std::min(waiting, capacity() - at);
  return {std::string_view(bytes_.get() + at, first), std::string_view(bytes_.get(), waiting - first)};
}

void ByteRing::consume(std::size_t bytes) noexcept {
  tail_.store(tail_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

}  // namespace bloomwall::proxy
