// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bloomwall {
namespace {

// 16 octets are equal by chance once in 2^128.
TEST(Random, FillsAllOfWhatItIsGiven) {
  for (const std::size_t size : {std::size_t{16}, std::size_t{257}, std::size_t{1} << 20}) {
    std::vector<std::uint8_t> octets(size + 16), zeros(16);
    fill_random(std::span(octets).first(size));
    EXPECT_FALSE(std::ranges::equal(std::span(octets).subspan(size - 16, 16), zeros)) << size;
    EXPECT_TRUE(std::ranges::equal(std::span(octets).last(16), zeros)) << "nothing behind it";
  }
  fill_random({});
}

TEST(Random, IsAnotherEachTime) {
  using Key = std::array<std::uint8_t, 32>;
  EXPECT_NE(random_value<Key>(), random_value<Key>());
}

}  // namespace
}  // namespace bloomwall
