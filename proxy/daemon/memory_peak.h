// Says when it is worth while to give memory of the allocator back to the system: libraries free what a peak of
// connections took (TLS, HTTP/2), and the allocator keeps it. To give it back holds up the threads that allocate, for
// milliseconds; so once for each peak, when it is really over. Thread: one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace bloomwall::proxy {

class MemoryPeak {
 public:
  static constexpr std::uint64_t kLeast = std::uint64_t{8} << 20;  // bytes that are worth it
  static constexpr unsigned kLooks = 10;                           // in a row, which a dip does not last

  // To be called with what is held at regular times. True: most of the peak since the last time was freed.
  bool is_over(std::uint64_t held) {
    peak_ = std::max(peak_, held);
    const bool has_fallen = peak_ - held >= kLeast && held <= peak_ / 2;
    looks_ = has_fallen ? looks_ + 1 : 0;
    if (looks_ < kLooks) return false;
    peak_ = held;
    looks_ = 0;
    return true;
  }

 private:
  std::uint64_t peak_ = 0;  // bytes
  unsigned looks_ = 0;
};

}  // namespace bloomwall::proxy
