// SPDX-License-Identifier: Apache-2.0
#include "filter/build/record_stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

namespace bloomwall::filter {
namespace {

ChunkPool pool_of(std::size_t chunks, std::size_t rows, RecordForm form) {
  return {*AnonymousMemory::make(chunks * rows * row_bytes(form)), rows, form};
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

Records contents(const RecordStage& stage, std::size_t partitions) {
  Records out;
  for (const auto& chunk : stage.chunks()) {
    read_run({{chunk.rows, chunk.rows_used * row_bytes(stage.form())}, stage.form()}, out[chunk.partition]);
  }
  for (std::size_t p = 0; p < partitions; ++p) {
    if (!stage.row(p).bytes.empty()) read_run(stage.row(p), out[p]);
  }
  for (auto& [partition, records] : out) std::sort(records.begin(), records.end());
  return out;
}

class RecordStageTest : public testing::TestWithParam<RecordForm> {};
INSTANTIATE_TEST_SUITE_P(Forms, RecordStageTest, testing::Values(RecordForm::paths, RecordForm::any),
                         [](const auto& of) { return of.param == RecordForm::paths ? "Paths" : "Any"; });

TEST_P(RecordStageTest, ARecordHoldsPageAndFingerprint) {
  const SectionKind kind = GetParam() == RecordForm::paths ? SectionKind::paths : SectionKind::raw;
  const Place most{.page = (1U << kPartitionPageBits) - 1,
                   .fingerprint = ~std::uint64_t{0} >> (64 - fingerprint_bits(kind))};
  for (const Place& place : {most, Place{.page = 0, .fingerprint = 1}, Place{.page = 5, .fingerprint = 0}}) {
    const auto exact = std::make_unique<std::byte[]>(record_bytes(GetParam()));  // a sanitizer sees a byte beyond it
    put_record(GetParam(), place, exact.get());
    EXPECT_EQ(place_in(GetParam(), exact.get()), place);
  }
}

TEST_P(RecordStageTest, GivesBackWhatItWasGiven) {
  constexpr std::size_t kPartitions = 5;
  for (const std::size_t rows : {std::size_t{1}, std::size_t{3}, std::size_t{50}}) {
    ChunkPool pool = pool_of(200, rows, GetParam());
    RecordStage stage(pool, kPartitions);
    std::mt19937_64 random(42);
    Records want;
    for (int i = 0; i < 3000; ++i) {
      const std::size_t partition = random() % (kPartitions - 1);  // the last one stays empty
      const Record record{random() >> 51, random() >> 29};
      want[partition].push_back(record);
      ASSERT_TRUE(stage.add(partition, place_of(record)));
    }
    for (auto& [partition, records] : want) std::sort(records.begin(), records.end());
    EXPECT_EQ(contents(stage, kPartitions), want) << rows << " rows a chunk";
    stage.reset();
    pool.reset();
    EXPECT_TRUE(contents(stage, kPartitions).empty());
    ASSERT_TRUE(stage.add(2, place_of({7, 77})));
    EXPECT_EQ(contents(stage, kPartitions), (Records{{2, {{7, 77}}}}));
  }
}

TEST_P(RecordStageTest, SaysWhenThePoolIsEmptyAndLosesNothing) {
  ChunkPool pool = pool_of(2, 2, GetParam());
  RecordStage stage(pool, 1);
  std::vector<Record> want;
  bool more = true;
  for (std::uint64_t i = 0; more; ++i) {
    want.emplace_back(0, i);
    more = stage.add(0, place_of(want.back()));
    ASSERT_LE(i, 1000U);
  }
  EXPECT_EQ(want.size(), 5 * kRowRecords) << "two chunks of two rows, and the row at hand";
  EXPECT_EQ(contents(stage, 1), (Records{{0, want}}));
}

TEST_P(RecordStageTest, StagesShareAPool) {
  ChunkPool pool = pool_of(2, 1, GetParam());
  RecordStage one(pool, 1), two(pool, 1);
  for (std::uint64_t i = 0; i < kRowRecords; ++i) {
    ASSERT_TRUE(one.add(0, place_of({0, i})));
    ASSERT_TRUE(two.add(0, place_of({0, 100 + i})));
  }
  EXPECT_EQ(contents(one, 1)[0].front().second, 0U);
  EXPECT_EQ(contents(two, 1)[0].front().second, 100U);
  for (std::uint64_t i = 1; i < kRowRecords; ++i) ASSERT_TRUE(one.add(0, place_of({0, i})));
  EXPECT_FALSE(one.add(0, {}));
}

}  // namespace
}  // namespace bloomwall::filter
