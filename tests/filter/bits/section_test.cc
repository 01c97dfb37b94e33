// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/section.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/filter/bits/owned_section.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kSeed = 1234;
constexpr std::array kLayouts{Layout::sectors_2x8, Layout::lines_4x4};

class SectionTest : public testing::TestWithParam<Layout> {
 protected:
  ~SectionTest() override { force_simd_for_testing(Simd::avx2); }
  Geometry geometry(std::uint32_t segments = 3, std::uint64_t pages = 7) const {
    return {.layout = GetParam(), .segments = segments, .pages_per_segment = pages};
  }
};
INSTANTIATE_TEST_SUITE_P(Layouts, SectionTest, testing::ValuesIn(kLayouts),
                         [](const auto& of) { return of.param == Layout::sectors_2x8 ? "Sectors2x8" : "Lines4x4"; });

TEST_P(SectionTest, HoldsWhatWasInsertedAndAlmostNothingElse) {
  OwnedSection section(geometry(), LineChoice::own);
  std::mt19937_64 random(kSeed);
  std::vector<Hash128> keys(2000);
  for (Hash128& key : keys) key = {.lo = random(), .hi = random()};
  for (std::size_t i = 0; i < keys.size(); ++i) section.writer().insert(keys[i], 0, i % 2 + 1);
  const SectionView view = section.writer().view();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    view.prefetch(view.place(keys[i]));
    ASSERT_TRUE(view.test(view.place(keys[i]), 0, i % 2 + 1));
  }
  int others = 0;
  for (int i = 0; i < 100'000; ++i) others += view.test(view.place({.lo = random(), .hi = random()})) ? 1 : 0;
  EXPECT_LT(others, 5);
}

TEST_P(SectionTest, EveryRoundIsAskedAndWritten) {
  OwnedSection section(geometry(1, 1), LineChoice::own);
  const Hash128 key{.lo = 77ULL << 40, .hi = 99};
  section.writer().insert(key, 0, 1);
  const SectionView view = section.writer().view();
  EXPECT_TRUE(view.test(view.place(key), 0, 1));
  EXPECT_FALSE(view.test(view.place(key), 0, 2));
  EXPECT_FALSE(view.test(view.place(key), 1, 1));
  section.writer().insert(key, 0, 2);
  EXPECT_TRUE(view.test(view.place(key), 0, 2));
}

TEST_P(SectionTest, PlacesSpreadOverAllPagesEvenly) {
  const Geometry g = geometry(5, 20);
  std::vector<int> count(g.pages());
  std::mt19937_64 random(kSeed);
  constexpr int kKeys = 200'000;
  for (int i = 0; i < kKeys; ++i) {
    const Place place = place_of(g, {.lo = random(), .hi = random()});
    ASSERT_LT(place.page, g.pages());
    ASSERT_LT(place.fingerprint, std::uint64_t{1} << kFingerprintBits);
    ++count[place.page];
  }
  double chi2 = 0;
  const double mean = kKeys / static_cast<double>(g.pages());
  for (const int c : count) chi2 += (c - mean) * (c - mean) / mean;
  EXPECT_LT(chi2, 149);  // 99 degrees of freedom: exceeded once in a thousand seeds
}

TEST(PlaceTest, TheEndsOfTheHashAreTheEndsOfTheSection) {
  const Geometry g{.layout = Layout::sectors_2x8, .segments = 0xffffffff, .pages_per_segment = std::uint64_t{1} << 30};
  EXPECT_EQ(place_of(g, {.lo = 0, .hi = 0}), (Place{.page = 0, .fingerprint = 0}));
  const Place last = place_of(g, {.lo = ~std::uint64_t{0}, .hi = ~std::uint64_t{0}});
  // 2^64 hashes over almost 2^62 pages: the last hash is within the last four.
  EXPECT_LT(last.page, g.pages());
  EXPECT_GE(last.page + 4, g.pages());
  EXPECT_EQ(last.fingerprint, (std::uint64_t{1} << kFingerprintBits) - 1);
}

// The rule of section.h, from the outside: where the bits of variants and rounds lie.
std::set<std::uint32_t> lines_of(const BitPositions& bits) {
  std::set<std::uint32_t> lines;
  for (unsigned i = 0; i < bits.count; ++i) lines.insert(bits.at[i] / 512);
  return lines;
}

TEST_P(SectionTest, VariantsOfAHostShareItsLinesAndKeysOfTheirOwnDoNot) {
  const std::size_t lines = GetParam() == Layout::sectors_2x8 ? 2 : 4;
  std::mt19937_64 random(kSeed);
  int moved = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t fingerprint = random() >> 29;
    const auto home = lines_of(bit_positions(GetParam(), fingerprint, 0, 0, LineChoice::host));
    ASSERT_EQ(home.size(), lines) << "lines of a key are distinct";
    EXPECT_EQ(lines_of(bit_positions(GetParam(), fingerprint, 0, 0, LineChoice::own)), home);
    for (Variant v = 0; v < kHostVariantCount; ++v) {
      EXPECT_EQ(lines_of(bit_positions(GetParam(), fingerprint, v, 0, LineChoice::host)), home);
      EXPECT_EQ(lines_of(bit_positions(GetParam(), fingerprint, v, 1, LineChoice::host)), home);
    }
    moved += lines_of(bit_positions(GetParam(), fingerprint, 0, 1, LineChoice::own)) != home ? 1 : 0;
  }
  EXPECT_GT(moved, 980);
}

TEST_P(SectionTest, TestVariantsAnswersWhatTestWould) {
  OwnedSection section(geometry(), LineChoice::host);
  std::mt19937_64 random(kSeed);
  // Full enough that many variants that nobody wrote are set too.
  for (int i = 0; i < 60'000; ++i) {
    section.writer().insert({.lo = random(), .hi = random()}, static_cast<Variant>(random() % kHostVariantCount),
                            random() % 2 + 1);
  }
  const SectionView view = section.writer().view();
  std::size_t set = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Place place = view.place({.lo = random(), .hi = random()});
    const auto wanted = static_cast<std::uint32_t>(random()) & ((1U << kHostVariantCount) - 1);
    const auto doubled = static_cast<std::uint32_t>(random());
    std::uint32_t want = 0;
    for (Variant v = 0; v < kHostVariantCount; ++v) {
      const unsigned rounds = (doubled >> v & 1) != 0 ? 2 : 1;
      if ((wanted >> v & 1) != 0 && view.test(place, v, rounds)) want |= 1U << v;
    }
    ASSERT_EQ(view.test_variants(place, wanted, doubled), want);
    set += want != 0 ? 1 : 0;
  }
  EXPECT_GT(set, 1000U) << "a test of zeros against zeros would prove nothing";
  EXPECT_EQ(view.test_variants({}, 0), 0U);
}

TEST_P(SectionTest, ScalarAndAvx2AgreeOnAMillionPlaces) {
  force_simd_for_testing(Simd::avx2);
  if (active_simd() != Simd::avx2) GTEST_SKIP() << "this processor has no AVX2";
  OwnedSection by_avx2(geometry(), LineChoice::host);
  OwnedSection by_scalar(geometry(), LineChoice::host);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 30'000; ++i) {
    const Place place = place_of(geometry(), {.lo = random(), .hi = random()});
    const auto variant = static_cast<Variant>(random() % kHostVariantCount);
    force_simd_for_testing(Simd::avx2);
    by_avx2.writer().insert_exclusive(place, variant, 2);
    force_simd_for_testing(Simd::scalar);
    ASSERT_EQ(active_simd(), Simd::scalar);
    by_scalar.writer().insert_exclusive(place, variant, 2);
  }
  ASSERT_TRUE(std::ranges::equal(by_avx2.writer().bytes(), by_scalar.writer().bytes()));

  constexpr std::size_t kPlaces = 1'000'000;
  const SectionView view = by_avx2.writer().view();
  std::vector<std::uint32_t> answers(kPlaces);
  for (const Simd simd : {Simd::avx2, Simd::scalar}) {
    force_simd_for_testing(simd);
    std::mt19937_64 questions(kSeed + 1);
    std::size_t set = 0;
    for (std::uint32_t& answer : answers) {
      const Place place{.page = questions() % geometry().pages(), .fingerprint = questions() >> 29};
      const auto variant = static_cast<Variant>(questions() % kHostVariantCount);
      const std::uint32_t got = view.test_variants(place, 1U << variant) | (view.test(place, variant) ? 1U << 31 : 0);
      if (simd == Simd::avx2) answer = got;
      ASSERT_EQ(answer, got);
      set += got != 0 ? 1 : 0;
    }
    EXPECT_GT(set, kPlaces / 100);
  }
}

TEST_P(SectionTest, ManyPlacesAtOnceLeaveTheBitsOfOneAfterTheOther) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 31U, 32U, 33U, 200U}) {
    for (const LineChoice lines : {LineChoice::own, LineChoice::host}) {
      for (const Simd simd : {Simd::avx2, Simd::scalar}) {
        SCOPED_TRACE(testing::Message() << count << " places");
        force_simd_for_testing(simd);
        std::mt19937_64 random(kSeed);
        std::vector<Place> places(count);
        for (Place& place : places) place = place_of(geometry(), {.lo = random(), .hi = random()});
        OwnedSection at_once(geometry(), lines), one_by_one(geometry(), lines);
        at_once.writer().insert_exclusive(places);
        for (const Place& place : places) one_by_one.writer().insert(place);
        ASSERT_TRUE(std::ranges::equal(at_once.writer().bytes(), one_by_one.writer().bytes()));
      }
    }
  }
}

TEST_P(SectionTest, ManyThreadsInsertingLoseNothing) {
  OwnedSection together(geometry(1, 2), LineChoice::own);
  OwnedSection alone(geometry(1, 2), LineChoice::own);
  const auto key = [](std::uint64_t i) { return Hash128{.lo = i * 0x9e3779b97f4a7c15, .hi = i * 0xbf58476d1ce4e5b9}; };
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t i = t; i < 4000; i += 4) together.writer().insert(key(i), 0, 2);
      });
    }
  }
  for (std::uint64_t i = 0; i < 4000; ++i) alone.writer().insert_exclusive(place_of(geometry(1, 2), key(i)), 0, 2);
  EXPECT_TRUE(std::ranges::equal(together.writer().bytes(), alone.writer().bytes()));
}

TEST(SectionViewTest, WithoutBytesIsFalse) {
  const SectionView none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none.bytes().empty());
}

}  // namespace
}  // namespace bloomwall::filter
