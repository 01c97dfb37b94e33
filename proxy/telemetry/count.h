// A number that one thread writes and any reads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bloomwall::proxy {

class Count {
 public:
  void add(std::uint64_t n = 1) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  void subtract(std::uint64_t n = 1) { add(std::uint64_t{0} - n); }
  void set(std::uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Sums of tables of numbers.
template <std::size_t kSize>
void add_table(std::array<Count, kSize>& into, const std::array<Count, kSize>& from) {
  for (std::size_t i = 0; i < kSize; ++i) into[i].add(from[i].get());
}

}  // namespace bloomwall::proxy
