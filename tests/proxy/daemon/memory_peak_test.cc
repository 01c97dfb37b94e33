// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/memory_peak.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace bloomwall::proxy {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// How often it says so, in that many looks.
unsigned told(MemoryPeak& peak, std::uint64_t held, unsigned looks) {
  unsigned count = 0;
  for (unsigned i = 0; i < looks; ++i) count += peak.is_over(held) ? 1U : 0U;
  return count;
}

TEST(MemoryPeak, IsOverOnceWhenMostOfItStaysFree) {
  MemoryPeak peak;
  EXPECT_EQ(told(peak, 40 * kMiB, 100), 0U);
  EXPECT_EQ(told(peak, 20 * kMiB, MemoryPeak::kLooks - 1), 0U);
  EXPECT_EQ(told(peak, 20 * kMiB, 100), 1U);
  EXPECT_EQ(told(peak, 0, 100), 1U) << "a smaller one follows";
  EXPECT_EQ(told(peak, 0, 100), 0U);
}

TEST(MemoryPeak, IsNotOverInADip) {
  MemoryPeak peak;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(told(peak, i % 5 == 0 ? 100 * kMiB : 0, 1), 0U);
}

TEST(MemoryPeak, IsNotWorthWhileBelowItsLeast) {
  MemoryPeak peak;
  EXPECT_EQ(told(peak, MemoryPeak::kLeast - 1, 10), 0U);
  EXPECT_EQ(told(peak, 0, 100), 0U);
}

TEST(MemoryPeak, IsNotOverWhileHalfOfItIsHeld) {
  MemoryPeak peak;
  EXPECT_EQ(told(peak, 100 * kMiB, 10), 0U);
  EXPECT_EQ(told(peak, 51 * kMiB, 100), 0U);
}

}  // namespace
}  // namespace bloomwall::proxy
