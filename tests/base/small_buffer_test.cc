// SPDX-License-Identifier: Apache-2.0
#include "base/small_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace bloomwall {
namespace {

TEST(SmallBuffer, KeepsItsValuesWhenItOutgrowsTheInlineRoom) {
  SmallBuffer<std::uint32_t, 4> buffer;
  EXPECT_TRUE(buffer.empty());
  for (std::uint32_t i = 0; i < 1000; ++i) {
    buffer.push_back(i);
    ASSERT_EQ(buffer.size(), i + 1);
    ASSERT_EQ(buffer[0], 0U);
    ASSERT_EQ(buffer[i], i);
  }
  std::uint32_t expected = 0;
  for (const std::uint32_t value : buffer.view()) EXPECT_EQ(value, expected++);
}

TEST(SmallBuffer, MayPushAValueThatStandsInItself) {
  SmallBuffer<std::uint64_t, 2> buffer;
  buffer.push_back(7);
  buffer.push_back(8);
  buffer.push_back(buffer[0]);  // grows
  EXPECT_EQ(buffer[2], 7U);
}

TEST(SmallBuffer, ResizingKeepsWhatWasThere) {
  SmallBuffer<std::uint16_t, 2> buffer;
  buffer.push_back(5);
  buffer.resize_unset(50);
  ASSERT_EQ(buffer.size(), 50U);
  EXPECT_EQ(buffer[0], 5U);
  buffer[49] = 9;
  EXPECT_EQ(buffer[49], 9U);
}

TEST(SmallBuffer, ClearKeepsTheRoom) {
  SmallBuffer<std::uint16_t, 2> buffer;
  for (std::uint16_t i = 0; i < 10; ++i) buffer.push_back(i);
  buffer.clear();
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.begin(), buffer.end());
  buffer.push_back(3);
  EXPECT_EQ(buffer[0], 3U);
}

}  // namespace
}  // namespace bloomwall
