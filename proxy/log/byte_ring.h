// Whole lines on their way from one thread to another: a ring of bytes with one producer and one consumer, no lock, no
// allocation after the constructor. An empty ring starts again at its beginning, so only as much memory is touched as
// lines wait, and it stays in the caches; what a burst has touched beyond kKept is then returned to the system.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace bloomwall::proxy {

class ByteRing {
 public:
  explicit ByteRing(std::size_t capacity);  // rounded up to a power of two

  // Producer. The whole line or nothing: false where there is no room for it.
  bool push(std::string_view line) noexcept;

  // Consumer. What waits, in order; the second piece is what lies beyond the ring's end.
  std::array<std::string_view, 2> readable() const noexcept;
  void consume(std::size_t bytes) noexcept;

  // Any thread; positions count every byte ever pushed or consumed.
  std::uint64_t pushed() const noexcept { return head_.load(std::memory_order_seq_cst); }
  std::uint64_t consumed() const noexcept { return tail_.load(std::memory_order_acquire); }
  std::size_t capacity() const noexcept { return mask_ + 1; }

  static constexpr std::size_t kStartOver = std::size_t{16} * 1024;  // bytes from the start at which that is worth it

  static constexpr std::size_t kKept = std::size_t{256} * 1024;

 private:
  void start_over(std::uint64_t head) noexcept;
  std::size_t place_of(std::uint64_t position) const noexcept { return (position - start_) & mask_; }

  const std::size_t mask_;
  const std::unique_ptr<char[]> bytes_;
  alignas(64) std::atomic<std::uint64_t> head_{0};  // written by the producer
  std::uint64_t seen_tail_ = 0;                     // what the producer last saw of tail_
  std::uint64_t start_ =
      0;  // position of bytes_[0]; changes only while the ring is empty, and is read only while it is not
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // written by the consumer
};

}  // namespace bloomwall::proxy
