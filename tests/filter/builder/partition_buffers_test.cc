// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/section_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace bloomwall::filter {
namespace {

ChunkPool pool_of(std::size_t chunks, std::size_t rows, RecordForm form, std::size_t partitions) {
  return {*AnonymousMemory::make(chunks * rows * row_bytes(form)), rows, form, partitions};
}

using Record = std::pair<std::uint64_t, std::uint64_t>;      // page, fingerprint
using Records = std::map<std::size_t, std::vector<Record>>;  // by partition, sorted

Place place_of(const Record& record) { return {.page = record.first, .fingerprint = record.second}; }

void read_run(RecordRun run, std::vector<Record>& out) {
  for (std::size_t at = 0; at < run.bytes.size(); at += record_bytes(run.form)) {
    const Place place = place_in(run.form, run.bytes.data() + at);
    out.emplace_back(place.page, place.fingerprint);
  }
}

// Of full chunks, which are free afterwards, and of what a stage has left.
Records contents(ChunkPool& pool, const PartitionBuffers& stage, std::size_t partitions) {
  Records out;
  for (std::size_t p = 0; p < partitions; ++p) {
    const ChunkPool::Batch batch = pool.all_of(p);
    std::vector<Record> records;
    for (const std::byte* chunk : batch.chunks) read_run({{chunk, pool.chunk_bytes()}, pool.form()}, records);
    pool.give_back(batch);
    for (const RecordRun& run : stage.left(p)) read_run(run, records);
    std::sort(records.begin(), records.end());
    if (!records.empty()) out[p] = std::move(records);
  }
  return out;
}

class PartitionBuffersTest : public testing::TestWithParam<RecordForm> {};
INSTANTIATE_TEST_SUITE_P(Forms, PartitionBuffersTest, testing::Values(RecordForm::paths, RecordForm::any),
                         [](const auto& of) { return of.param == RecordForm::paths ? "Paths" : "Any"; });

TEST_P(PartitionBuffersTest, ARecordHoldsPageAndFingerprint) {
  const SectionKind kind = GetParam() == RecordForm::paths ? SectionKind::paths : SectionKind::raw;
  const Place most{.page = (1U << kPartitionPageBits) - 1,
                   .fingerprint = ~std::uint64_t{0} >> (64 - fingerprint_bits(kind))};
  for (const Place& place : {most, Place{.page = 0, .fingerprint = 1}, Place{.page = 5, .fingerprint = 0}}) {
    const auto exact = std::make_unique<std::byte[]>(record_bytes(GetParam()));  // a sanitizer sees a byte beyond it
    put_record(GetParam(), place, exact.get());
    EXPECT_EQ(place_in(GetParam(), exact.get()), place);
  }
}

TEST_P(PartitionBuffersTest, GivesBackWhatItWasGiven) {
  constexpr std::size_t kParts = 5;
  for (const std::size_t rows : {std::size_t{1}, std::size_t{3}, std::size_t{50}}) {
    ChunkPool pool = pool_of(200, rows, GetParam(), kParts);
    PartitionBuffers stage(pool, kParts);
    std::mt19937_64 random(42);
    Records want;
    for (int i = 0; i < 3000; ++i) {
      const std::size_t partition = random() % (kParts - 1);  // the last one stays empty
      const Record record{random() >> 51, random() >> 29};
      want[partition].push_back(record);
      ASSERT_TRUE(stage.add(partition, place_of(record)));
    }
    for (auto& [partition, records] : want) std::sort(records.begin(), records.end());
    EXPECT_EQ(contents(pool, stage, kParts), want) << rows << " rows a chunk";
  }
}

TEST_P(PartitionBuffersTest, SaysWhenNoChunkIsFreeAndLosesNothing) {
  ChunkPool pool = pool_of(2, 2, GetParam(), 1);
  PartitionBuffers stage(pool, 1);
  std::vector<Record> want;
  bool more = true;
  for (std::uint64_t i = 0; more; ++i) {
    want.emplace_back(0, i);
    more = stage.add(0, place_of(want.back()));
    ASSERT_LE(i, 1000U);
  }
  EXPECT_EQ(want.size(), 5 * kRowRecords) << "two chunks of two rows, and the row at hand";
  EXPECT_FALSE(stage.hand_over(0));
  EXPECT_EQ(contents(pool, stage, 1), (Records{{0, want}}));
  EXPECT_TRUE(stage.hand_over(0)) << "the chunks are free now";
  EXPECT_TRUE(stage.add(0, place_of({0, 7})));
}

TEST_P(PartitionBuffersTest, StagesShareAPool) {
  ChunkPool pool = pool_of(2, 1, GetParam(), 1);
  PartitionBuffers one(pool, 1), two(pool, 1);
  for (std::uint64_t i = 0; i < kRowRecords; ++i) {
    ASSERT_TRUE(one.add(0, place_of({0, i})));
    ASSERT_TRUE(two.add(0, place_of({0, 100 + i})));
  }
  for (std::uint64_t i = 1; i < kRowRecords; ++i) ASSERT_TRUE(one.add(0, place_of({0, i})));
  EXPECT_FALSE(one.add(0, {}));
  const Records all = contents(pool, two, 1);
  EXPECT_EQ(all.at(0).size(), 2 * kRowRecords);
  EXPECT_EQ(all.at(0).back().second, 100 + kRowRecords - 1);
}

}  // namespace
}  // namespace bloomwall::filter
