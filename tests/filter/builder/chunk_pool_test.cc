// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/section_rounds.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace bloomwall::filter {
namespace {

constexpr std::size_t kPartitions = 3;

ChunkPool pool_of(std::size_t chunks) {
  return {*AnonymousMemory::make(chunks * row_bytes(RecordForm::paths)), 1, RecordForm::paths, kPartitions};
}

TEST(ChunkPool, GivesEachChunkOnceAndAgainOnceItIsBack) {
  ChunkPool pool = pool_of(4);
  std::set<std::byte*> taken;
  for (int i = 0; i < 4; ++i) taken.insert(pool.take());
  EXPECT_EQ(taken.size(), 4U);
  EXPECT_FALSE(taken.contains(nullptr));
  EXPECT_EQ(pool.take(), nullptr);
  pool.put(1, *taken.begin());
  const auto batch = pool.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(pool.take(), nullptr) << "it is being applied";
  pool.give_back(*batch);
  EXPECT_EQ(pool.take(), *taken.begin());
}

TEST(ChunkPool, PartitionsTakeTheirTurnAndAreNobodyElsesMeanwhile) {
  ChunkPool pool = pool_of(8);
  for (const std::size_t partition : {2U, 0U, 0U}) pool.put(partition, pool.take());
  const auto first = pool.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->partition, 0U);
  EXPECT_EQ(first->chunks.size(), 2U);
  pool.put(0, pool.take());
  const auto second = pool.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->partition, 2U);
  EXPECT_FALSE(pool.next()) << "partition 0 is taken";
  pool.give_back(*first);
  const auto third = pool.next();
  ASSERT_TRUE(third);
  EXPECT_EQ(third->partition, 0U);
  EXPECT_EQ(third->chunks.size(), 1U);
  EXPECT_FALSE(pool.next());
  EXPECT_TRUE(pool.all_of(1).chunks.empty());
}

TEST(ChunkPool, WorkIsDueWhereLittleIsFree) {
  ChunkPool pool = pool_of(16);
  std::atomic<int> woken = 0;
  std::jthread worker([&] {
    while (pool.wait_for_work()) {
      if (const auto batch = pool.next()) pool.give_back(*batch);
      ++woken;
    }
  });
  for (int i = 0; i < 13; ++i) pool.put(0, pool.take());
  EXPECT_EQ(woken, 0) << "three are free";
  pool.put(0, pool.take());
  pool.wait_for_room(std::chrono::seconds(10));
  while (woken == 0) std::this_thread::yield();
  pool.close();
}

// Who fills chunks waits for room, who applies them for work; each record is applied once.
TEST(ChunkPool, NothingIsLostBetweenThreads) {
  constexpr std::uint64_t kChunks = 20'000;
  ChunkPool pool = pool_of(2 * kPartitions);
  std::atomic<std::uint64_t> sum = 0;
  const auto apply = [&](const ChunkPool::Batch& batch) {
    for (const std::byte* chunk : batch.chunks) {
      std::uint64_t number = 0;
      std::memcpy(&number, chunk, sizeof number);
      sum += number;
    }
    pool.give_back(batch);
  };
  {
    std::vector<std::jthread> helpers;
    for (int i = 0; i < 2; ++i) {
      helpers.emplace_back([&] {
        while (pool.wait_for_work()) {
          if (const auto batch = pool.next()) apply(*batch);
        }
      });
    }
    {
      std::vector<std::jthread> producers;
      for (std::uint64_t t = 0; t < 2; ++t) {
        producers.emplace_back([&, t] {
          for (std::uint64_t i = t; i < kChunks; i += 2) {
            std::byte* chunk = nullptr;
            while ((chunk = pool.take()) == nullptr) pool.wait_for_room(std::chrono::milliseconds(100));
            std::memcpy(chunk, &i, sizeof i);
            pool.put(i % kPartitions, chunk);
          }
        });
      }
    }
    pool.close();
  }
  for (std::size_t p = 0; p < kPartitions; ++p) apply(pool.all_of(p));
  EXPECT_EQ(sum, kChunks * (kChunks - 1) / 2);
}

}  // namespace
}  // namespace bloomwall::filter
