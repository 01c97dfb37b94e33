// SPDX-License-Identifier: Apache-2.0
#include "filter/build/record_stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace bloomwall::filter {
namespace {

ChunkPool pool_of(std::size_t chunks, std::size_t rows) {
  return {*AnonymousMemory::make(chunks * rows * kRowBytes), rows};
}

using Records = std::map<std::size_t, std::vector<std::uint64_t>>;  // by partition, sorted

void read_run(RecordRun run, std::vector<std::uint64_t>& out) {
  for (std::size_t at = 0; at < run.size(); at += kRecordBytes) {
    const Place place = place_of_record(run.data() + at);
    out.push_back(record_of(place.page, place.fingerprint));
  }
}

Records contents(const RecordStage& stage, std::size_t partitions) {
  Records out;
  for (const auto& chunk : stage.chunks()) read_run({chunk.rows, chunk.rows_used * kRowBytes}, out[chunk.partition]);
  for (std::size_t p = 0; p < partitions; ++p) {
    if (!stage.row(p).empty()) read_run(stage.row(p), out[p]);
  }
  for (auto& [partition, records] : out) std::sort(records.begin(), records.end());
  return out;
}

TEST(Record, HoldsPageAndFingerprint) {
  const std::uint64_t most_fingerprint = (std::uint64_t{1} << kFingerprintBits) - 1;
  const std::uint64_t record = record_of((1U << kPartitionPageBits) - 1, most_fingerprint);
  EXPECT_LT(record, std::uint64_t{1} << (8 * kRecordBytes));
  const Place place = place_of_record(reinterpret_cast<const std::byte*>(&record));
  EXPECT_EQ(place, (Place{.page = 8191, .fingerprint = most_fingerprint}));
}

TEST(RecordStage, GivesBackWhatItWasGiven) {
  constexpr std::size_t kPartitions = 5;
  for (const std::size_t rows : {std::size_t{1}, std::size_t{3}, std::size_t{50}}) {
    ChunkPool pool = pool_of(200, rows);
    RecordStage stage(pool, kPartitions);
    std::mt19937_64 random(42);
    Records want;
    for (int i = 0; i < 3000; ++i) {
      const std::size_t partition = random() % (kPartitions - 1);  // the last one stays empty
      const std::uint64_t record = random() >> 16;
      want[partition].push_back(record);
      ASSERT_TRUE(stage.add(partition, record));
    }
    for (auto& [partition, records] : want) std::sort(records.begin(), records.end());
    EXPECT_EQ(contents(stage, kPartitions), want) << rows << " rows a chunk";
    stage.reset();
    pool.reset();
    EXPECT_TRUE(contents(stage, kPartitions).empty());
    ASSERT_TRUE(stage.add(2, 77));
    EXPECT_EQ(contents(stage, kPartitions), (Records{{2, {77}}}));
  }
}

TEST(RecordStage, SaysWhenThePoolIsEmptyAndLosesNothing) {
  ChunkPool pool = pool_of(2, 2);
  RecordStage stage(pool, 1);
  std::vector<std::uint64_t> want;
  bool more = true;
  for (std::uint64_t i = 0; more; ++i) {
    want.push_back(i);
    more = stage.add(0, i);
    ASSERT_LE(i, 1000U);
  }
  EXPECT_EQ(want.size(), 5 * kRowRecords) << "two chunks of two rows, and the row at hand";
  EXPECT_EQ(contents(stage, 1), (Records{{0, want}}));
}

TEST(RecordStage, StagesShareAPool) {
  ChunkPool pool = pool_of(2, 1);
  RecordStage one(pool, 1), two(pool, 1);
  for (std::uint64_t i = 0; i < kRowRecords; ++i) {
    ASSERT_TRUE(one.add(0, i));
    ASSERT_TRUE(two.add(0, 100 + i));
  }
  EXPECT_EQ(contents(one, 1)[0].front(), 0U);
  EXPECT_EQ(contents(two, 1)[0].front(), 100U);
  for (std::uint64_t i = 1; i < kRowRecords; ++i) ASSERT_TRUE(one.add(0, i));
  EXPECT_FALSE(one.add(0, 0));
}

}  // namespace
}  // namespace bloomwall::filter
