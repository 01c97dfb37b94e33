// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/byte_ring.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

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

// Else every page of every ring would be touched in the end, however few lines ever wait.
TEST(ByteRing, AnEmptyOneBeginsAnew) {
  ByteRing ring(std::size_t{1} << 20);
  const std::string line(1000, 'l');
  ASSERT_TRUE(ring.push(line));
  const char* const start = ring.readable()[0].data();
  ring.consume(line.size());
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(ring.push(line));
    const auto pieces = ring.readable();
    ASSERT_EQ(pieces[0].size(), line.size());
    ASSERT_LT(static_cast<std::size_t>(pieces[0].data() - start), ByteRing::kStartOver);
    ring.consume(line.size());
  }
  std::size_t lines = 0;  // one that is never empty uses all of it
  while (ring.push(line)) ++lines;
  EXPECT_EQ(lines, ring.capacity() / line.size());
}

std::size_t pages_in_memory(const char* begin, std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto skip = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  std::vector<unsigned char> there((size - skip) / page);
  char* const first = const_cast<char*>(begin) + skip;  // mincore() does not write there
  EXPECT_EQ(::mincore(first, there.size() * page, there.data()), 0);
  return static_cast<std::size_t>(std::count_if(there.begin(), there.end(), [](auto bits) { return (bits & 1) != 0; }));
}

TEST(ByteRing, WhatABurstTookGoesBack) {
  ByteRing ring(std::size_t{4} << 20);
  const std::string line(1000, 'l');
  ASSERT_TRUE(ring.push(line));
  const char* const start = ring.readable()[0].data();
  while (ring.push(line)) {
  }
  EXPECT_GT(pages_in_memory(start, ring.capacity()), 1000U);
  while (!ring.readable()[0].empty()) take_all(ring);
  ASSERT_TRUE(ring.push("after\n"));
  EXPECT_LT(pages_in_memory(start, ring.capacity()), 100U);
  EXPECT_EQ(take_all(ring), "after\n");
  for (int i = 0; i < 3; ++i) {  // and can be used again
    std::string all;
    for (; all.size() < ring.capacity() - line.size(); all += line) ASSERT_TRUE(ring.push(line));
    ASSERT_EQ(take_all(ring), all);
  }
}

TEST(ByteRing, RoundsItsCapacityUp) {
  EXPECT_EQ(ByteRing(0).capacity(), 64U);
  EXPECT_EQ(ByteRing(65).capacity(), 128U);
  EXPECT_EQ(ByteRing(65536).capacity(), 65536U);
}

TEST(ByteRing, OneThreadPushesWhileAnotherTakes) {
  ByteRing ring(2 * ByteRing::kStartOver);  // large enough to begin anew now and then
  constexpr int kLines = 200'000;
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
