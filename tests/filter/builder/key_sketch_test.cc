// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/key_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace bloomwall::filter {
namespace {

KeyMaker keys() { return KeyMaker(SeriesKey{7}); }
Hash128 key(std::uint64_t i) { return keys().raw(std::to_string(i)); }

DistinctSketch sketch_of(std::uint64_t from, std::uint64_t to) {
  DistinctSketch out;
  for (std::uint64_t i = from; i < to; ++i) out.add(key(i));
  return out;
}

DistinctSketch again(const DistinctSketch& sketch) {
  std::vector<std::byte> bytes;
  sketch.write(bytes);
  std::span<const std::byte> rest = bytes;
  DistinctSketch out;
  EXPECT_TRUE(out.read(rest));
  EXPECT_TRUE(rest.empty());
  return out;
}

class SketchSizes : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SketchSizes, TheEstimateIsWithinOnePercent) {
  const std::uint64_t count = GetParam();
  const DistinctSketch sketch = sketch_of(0, count);
  const auto wanted = static_cast<double>(count);
  EXPECT_NEAR(static_cast<double>(sketch.estimate()), wanted, std::ceil(wanted * 0.01));
  EXPECT_EQ(again(sketch), sketch);
  EXPECT_EQ(again(sketch).estimate(), sketch.estimate());
}
// Around the registers' number, where simpler estimators are biased, and far from it.
INSTANTIATE_TEST_SUITE_P(Keys, SketchSizes,
                         testing::Values(0, 1, 10, 1000, 30'000, 65'536, 150'000, 300'000, 1'000'000));

TEST(DistinctSketch, DuplicatesDoNotCountAndOrderDoesNotMatter) {
  DistinctSketch there = sketch_of(0, 50'000);
  DistinctSketch back;
  for (std::uint64_t i = 50'000; i-- > 0;) back.add(key(i));
  for (std::uint64_t i = 0; i < 50'000; i += 3) back.add(key(i));
  EXPECT_EQ(there, back);
}

TEST(DistinctSketch, ShardsMergeToTheWhole) {
  DistinctSketch merged = sketch_of(200'000, 400'000);
  merged.merge(sketch_of(0, 220'000));
  merged.merge({});
  const DistinctSketch whole = sketch_of(0, 400'000);
  EXPECT_EQ(merged, whole);
  DistinctSketch into_nothing;
  into_nothing.merge(whole);
  EXPECT_EQ(into_nothing, whole);
}

TEST(DistinctSketch, TheFloorChangesNothing) {
  // Long enough that every register is raised and most keys end at the floor.
  DistinctSketch sketch = sketch_of(0, 2'000'000);
  DistinctSketch halves = sketch_of(1'000'000, 2'000'000);
  halves.merge(sketch_of(0, 1'000'000));
  EXPECT_EQ(sketch, halves);
  EXPECT_NEAR(static_cast<double>(sketch.estimate()), 2e6, 2e4);
}

EntrySketches some_entries(std::uint64_t from, std::uint64_t to) {
  EntrySketches out;
  for (std::uint64_t i = from; i < to; ++i) {
    const Hash128 host = keys().host(std::to_string(i % 1000));
    out.add_host(host, i % 1000 < 100 ? kVariantSuffix : kVariantMarkUrl);
    if (i % 2 == 0) out.add_host(host, directory_mark(3));
    out.add_labels(static_cast<unsigned>(2 + i % 3));
    out.add_key(i % 2 == 0 ? Kind::directory : Kind::url, key(i), i % 2 == 0 ? 3 : 0);
  }
  return out;
}

TEST(EntrySketches, SummariseWhatCame) {
  const KeySummary summary = some_entries(0, 20'000).summary();
  EXPECT_TRUE(summary.estimated);
  EXPECT_NEAR(static_cast<double>(summary.hosts), 1000, 10);
  EXPECT_NEAR(static_cast<double>(summary.marks), 900 + 500, 14);
  EXPECT_NEAR(static_cast<double>(summary.distinct[index_of(Kind::suffix)]), 100, 1);
  EXPECT_NEAR(static_cast<double>(summary.distinct[index_of(Kind::url)]), 10'000, 100);
  EXPECT_NEAR(static_cast<double>(summary.distinct[index_of(Kind::directory)]), 10'000, 100);
  EXPECT_EQ(summary.distinct[index_of(Kind::raw)], 0U);
  EXPECT_EQ(summary.mark_mask, (1U << kVariantMarkUrl) | (1U << directory_mark(3)));
  EXPECT_EQ(summary.min_labels, 2);
  EXPECT_EQ(summary.max_labels, 4);
  EXPECT_EQ(summary.max_depth, 3);
}

TEST(EntrySketches, ComeBackFromTheirBytesAndMerge) {
  const EntrySketches whole = some_entries(0, 20'000);
  EntrySketches parts = some_entries(15'000, 20'000);
  parts.merge(some_entries(0, 15'000));
  const auto bytes = whole.serialise();
  EXPECT_EQ(parts.serialise(), bytes);
  EXPECT_LE(bytes.size(), kMostSketchBytes);
  const auto back = EntrySketches::parse(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->serialise(), bytes);
}

TEST(EntrySketches, NothingIsNothing) {
  const KeySummary summary = EntrySketches().summary();
  EXPECT_EQ(summary.total() + summary.hosts + summary.marks + summary.max_labels + summary.min_labels, 0U);
}

TEST(EntrySketches, AddressesHaveNoLabels) {
  EntrySketches sketches;
  sketches.add_labels(0);
  EXPECT_EQ(sketches.summary().max_labels, 0);
}

// What a header can't say is its most: bytes of sketches that were written are read again, whatever the hosts were.
TEST(EntrySketches, MoreLabelsOrDepthThanAHeaderSaysComeBackAsItsMost) {
  for (const unsigned labels : {254U, 255U, 256U, 300U, 65'535U, 70'000U}) {
    EntrySketches sketches;
    sketches.add_labels(labels);
    sketches.add_key(Kind::directory, key(labels), labels);
    const auto back = EntrySketches::parse(sketches.serialise());
    ASSERT_TRUE(back) << labels;
    EXPECT_EQ(back->summary().min_labels, std::min(labels, 255U));
    EXPECT_EQ(back->summary().max_labels, std::min(labels, 255U));
    EXPECT_EQ(back->summary().max_depth, std::min(labels, 65'535U));
  }
}

TEST(EntrySketches, RefuseBytesThatAreNotTheirs) {
  auto bytes = some_entries(0, 500).serialise();
  for (std::size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : 997) {
    EXPECT_FALSE(EntrySketches::parse(std::span(bytes).first(size))) << "cut at " << size;
  }
  auto longer = bytes;
  longer.push_back({});
  EXPECT_FALSE(EntrySketches::parse(longer));
  auto other_version = bytes;
  other_version[0] = std::byte{2};
  EXPECT_FALSE(EntrySketches::parse(other_version));
  auto too_many = bytes;
  too_many[16] = too_many[17] = too_many[18] = too_many[19] = std::byte{0xff};
  EXPECT_FALSE(EntrySketches::parse(too_many));
}

}  // namespace
}  // namespace bloomwall::filter
