// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/byte_ring.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace bloomwall::proxy {
namespace {

std::string take_all(ByteRing& ring) {
  std::string all;
  for (const std::string_view piece : ring.readable()) all += piece;
  ring.consume(all.size());
  return all;
}

TEST(ByteRing, GivesBackWhatWasPushedInOrder) {
  ByteRing ring(64);
  EXPECT_EQ(ring.capacity(), 64U);
  EXPECT_EQ(take_all(ring), "");
  EXPECT_TRUE(ring.push("one\n"));
  EXPECT_TRUE(ring.push("two\n"));
  EXPECT_EQ(take_all(ring), "one\ntwo\n");
  EXPECT_EQ(take_all(ring), "");
  EXPECT_EQ(ring.pushed(), 8U);
  EXPECT_EQ(ring.consumed(), 8U);
}

TEST(ByteRing, TakesAWholeLineOrNothing) {
  ByteRing ring(64);
  EXPECT_TRUE(ring.push(std::string(60, 'a')));
  EXPECT_FALSE(ring.push("12345"));
  EXPECT_TRUE(ring.push("1234"));
  EXPECT_FALSE(ring.push("5"));
  EXPECT_EQ(take_all(ring), std::string(60, 'a') + "1234");
  EXPECT_TRUE(ring.push(std::string(64, 'b')));
  EXPECT_EQ(take_all(ring), std::string(64, 'b'));
  EXPECT_FALSE(ring.push(std::string(65, 'c'))) << "longer than the ring";
}

TEST(ByteRing, LinesGoRoundItsEnd) {
  ByteRing ring(64);
  for (int i = 0; i < 1000; ++i) {
    const std::string line(static_cast<std::size_t>(i % 60), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(ring.push(line));
    ASSERT_EQ(take_all(ring), line);
  }
}

TEST(ByteRing, RoundsItsCapacityUp) {
  EXPECT_EQ(ByteRing(0).capacity(), 64U);
  EXPECT_EQ(ByteRing(65).capacity(), 128U);
  EXPECT_EQ(ByteRing(65536).capacity(), 65536U);
}

TEST(ByteRing, OneThreadPushesWhileAnotherTakes) {
  ByteRing ring(256);
  constexpr int kLines = 20'000;
  std::thread producer([&] {
    for (int i = 0; i < kLines;) {
      if (ring.push(std::to_string(i) + "\n")) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::string all, want;
  for (int i = 0; i < kLines; ++i) want += std::to_string(i) + "\n";
  while (all.size() < want.size()) all += take_all(ring);
  producer.join();
  EXPECT_EQ(all, want);
}

}  // namespace
}  // namespace bloomwall::proxy
