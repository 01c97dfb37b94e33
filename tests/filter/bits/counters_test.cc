// Cells against plain arithmetic.
// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/counters.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "filter/bits/bloom_math.h"

namespace bloomwall::filter {
namespace {

class Cells : public testing::TestWithParam<Layout> {
 protected:
  Geometry geometry_{.layout = GetParam(), .pages = 3};
  std::vector<std::byte> cells_ = std::vector<std::byte>(3 * kCounterPageBytes);
  CounterSection section_{geometry_, cells_.data(), SectionKind::paths};
  std::mt19937_64 random_{7};
  Place place() { return section_.place({random_(), random_()}); }
};

TEST_P(Cells, FollowEachKeyOnItsDistinctCells) {
  std::vector<unsigned> expected(3 * kCellsPerPage);
  std::vector<Place> keys;
  for (int i = 0; i < 4000; ++i) keys.push_back(place());
  const auto cells_of = [&](const Place& key) {
    std::set<std::size_t> out;
    const BitPositions set = bit_positions(GetParam(), SectionKind::paths, key.fingerprint);
    for (unsigned i = 0; i < set.count; ++i) out.insert(key.page * kCellsPerPage + set.at[i]);
    return out;
  };
  for (const auto& key : keys) {
    section_.add(key);
    for (const std::size_t cell : cells_of(key)) expected[cell] = std::min(15U, expected[cell] + 1);
  }
  const auto value = [&](std::size_t cell) {
    return (std::to_integer<unsigned>(cells_[cell / 2]) >> (cell % 2 * 4)) & 15U;
  };
  CellCounts counts;
  for (std::size_t cell = 0; cell < expected.size(); ++cell) {
    ASSERT_EQ(value(cell), expected[cell]) << cell;
    counts.used += expected[cell] != 0 ? 1U : 0U;
    counts.single += expected[cell] == 1 ? 1U : 0U;
    counts.stuck += expected[cell] == 15 ? 1U : 0U;
  }
  const CellCounts got = count_cells(cells_);
  EXPECT_EQ(got.cells, expected.size());
  EXPECT_EQ(got.used, counts.used);
  EXPECT_EQ(got.single, counts.single);
  EXPECT_EQ(got.stuck, counts.stuck);
  for (const auto& key : keys) ASSERT_TRUE(section_.test(key));
  for (const auto& key : keys) ASSERT_TRUE(section_.remove(key));
  const CellCounts left = count_cells(cells_);
  EXPECT_EQ(left.used, left.stuck) << "nothing but what had reached 15";
  EXPECT_EQ(left.stuck, got.stuck);
}

TEST_P(Cells, FifteenSticksAndWhatIsAbsentIsLeftAlone) {
  const Place key = place();
  EXPECT_FALSE(section_.remove(key));
  EXPECT_EQ(count_cells(cells_).used, 0U);
  for (int i = 0; i < 20; ++i) section_.add(key);
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(section_.remove(key));
  EXPECT_TRUE(section_.test(key));
  const Place marked = place();
  section_.pin(marked, kVariantMarkUrl);
  section_.pin(marked, kVariantMarkUrl);
  EXPECT_TRUE(section_.test(marked, kVariantMarkUrl));
  EXPECT_FALSE(section_.test(marked, kVariantSuffix));
}

TEST_P(Cells, BitsAreThoseOfAWriter) {
  std::vector<std::byte> bits(3 * kPageBytes), made(3 * kPageBytes);
  SectionWriter writer(geometry_, bits.data(), SectionKind::paths);
  for (int i = 0; i < 500; ++i) {
    const Place key = place();
    writer.insert(key);
    for (int times = 0; times <= i % 16; ++times) section_.add(key);
  }
  cells_to_bits(cells_, made);
  EXPECT_EQ(made, bits);
  EXPECT_DOUBLE_EQ(counter_fill_error(GetParam(), cells_), fill_error(GetParam(), bits));
}

INSTANTIATE_TEST_SUITE_P(Layouts, Cells, testing::Values(Layout::sectors_2x8, Layout::lines_4x4));

}  // namespace
}  // namespace bloomwall::filter
