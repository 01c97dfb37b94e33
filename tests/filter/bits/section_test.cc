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

constexpr std::uint64_t kSectionSeed = 1234;
constexpr std::array kLayouts{Layout::sectors_2x8, Layout::lines_4x4};

class SectionTest : public testing::TestWithParam<Layout> {
 protected:
  ~SectionTest() override { force_simd_for_testing(Simd::avx2); }
  Geometry geometry(std::uint64_t pages = 21) const { return {.layout = GetParam(), .pages = pages}; }
};
INSTANTIATE_TEST_SUITE_P(Layouts, SectionTest, testing::ValuesIn(kLayouts),
                         [](const auto& of) { return of.param == Layout::sectors_2x8 ? "Sectors2x8" : "Lines4x4"; });

TEST_P(SectionTest, HoldsWhatWasInsertedAndAlmostNothingElse) {
  OwnedSection section(geometry(), SectionKind::paths);
  std::mt19937_64 random(kSectionSeed);
  std::vector<Hash128> keys(2000);
  for (Hash128& key : keys) key = {.lo = random(), .hi = random()};
  for (std::size_t i = 0; i < keys.size(); ++i) section.writer().insert(keys[i]);
  const SectionView view = section.writer().view();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    view.prefetch(view.place(keys[i]));
    ASSERT_TRUE(view.test(view.place(keys[i])));
  }
  int others = 0;
  for (int i = 0; i < 100'000; ++i) others += view.test(view.place({.lo = random(), .hi = random()})) ? 1 : 0;
  EXPECT_LT(others, 5);
}

TEST_P(SectionTest, EveryVariantHasBitsOfItsOwn) {
  OwnedSection section(geometry(1), SectionKind::hosts);
  const Hash128 key{.lo = 77ULL << 40, .hi = 99};
  section.writer().insert(key, 0);
  const SectionView view = section.writer().view();
  EXPECT_TRUE(view.test(view.place(key), 0));
  EXPECT_FALSE(view.test(view.place(key), 1));
}

// Two keys of one page whose hashes differ in the last bit alone: told apart in H and R, not in P.
TEST_P(SectionTest, HostsAndRawKeysTakeTheWholeFingerprint) {
  const Hash128 key{.lo = 77ULL << 40, .hi = 99};
  const Hash128 other{.lo = key.lo ^ 1, .hi = 99};
  for (const SectionKind kind : {SectionKind::hosts, SectionKind::paths, SectionKind::raw}) {
    OwnedSection section(geometry(1), kind);
    section.writer().insert(key);
    const SectionView view = section.view();
    ASSERT_TRUE(view.test(view.place(key)));
    EXPECT_EQ(view.test(view.place(other)), kind == SectionKind::paths) << static_cast<int>(kind);
  }
}

TEST_P(SectionTest, PlacesSpreadOverAllPagesEvenly) {
  const Geometry g = geometry(100);
  std::vector<int> count(g.pages);
  std::mt19937_64 random(kSectionSeed);
  constexpr int kKeys = 200'000;
  for (int i = 0; i < kKeys; ++i) {
    const Place place = place_of(g, SectionKind::paths, {.lo = random(), .hi = random()});
    ASSERT_LT(place.page, g.pages);
    ASSERT_LT(place.fingerprint, std::uint64_t{1} << 35);
    ++count[place.page];
  }
  double chi2 = 0;
  const double mean = kKeys / static_cast<double>(g.pages);
  for (const int c : count) chi2 += (c - mean) * (c - mean) / mean;
  EXPECT_LT(chi2, 149);  // 99 degrees of freedom: exceeded once in a thousand seeds
}

TEST(PlaceTest, TheEndsOfTheHashAreTheEndsOfTheSection) {
  const Geometry g{.layout = Layout::sectors_2x8, .pages = (std::uint64_t{1} << 62) - (std::uint64_t{1} << 30)};
  for (const SectionKind kind : {SectionKind::hosts, SectionKind::paths, SectionKind::raw}) {
    EXPECT_EQ(place_of(g, kind, {.lo = 0, .hi = 0}), (Place{.page = 0, .fingerprint = 0}));
    const Place last = place_of(g, kind, {.lo = ~std::uint64_t{0}, .hi = ~std::uint64_t{0}});
    EXPECT_EQ(last.page, g.pages - 1);
    EXPECT_EQ(last.fingerprint, ~std::uint64_t{0} >> (64 - fingerprint_bits(kind)));
  }
}

// The rule of section.h, from the outside: where the bits of variants lie.
std::set<std::uint32_t> lines_of(const BitPositions& bits) {
  std::set<std::uint32_t> lines;
  for (unsigned i = 0; i < bits.count; ++i) lines.insert(bits.at[i] / 512);
  return lines;
}

TEST_P(SectionTest, VariantsOfAHostShareItsLinesAndKeysOfTheirOwnDoNot) {
  const std::size_t lines = GetParam() == Layout::sectors_2x8 ? 2 : 4;
  std::mt19937_64 random(kSectionSeed);
  int moved = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t fingerprint = random();
    const auto home = lines_of(bit_positions(GetParam(), SectionKind::hosts, fingerprint));
    ASSERT_EQ(home.size(), lines) << "lines of a key are distinct";
    EXPECT_EQ(lines_of(bit_positions(GetParam(), SectionKind::raw, fingerprint)), home);
    for (Variant v = 0; v < kHostVariantCount; ++v) {
      EXPECT_EQ(lines_of(bit_positions(GetParam(), SectionKind::hosts, fingerprint, v)), home);
    }
    moved += lines_of(bit_positions(GetParam(), SectionKind::paths, fingerprint, 1)) != home ? 1 : 0;
  }
  EXPECT_GT(moved, 980);
}

TEST_P(SectionTest, TestVariantsAnswersWhatTestWould) {
  OwnedSection section(geometry(), SectionKind::hosts);
  std::mt19937_64 random(kSectionSeed);
  // Full enough that many variants that nobody wrote are set too.
  for (int i = 0; i < 90'000; ++i) {
    section.writer().insert({.lo = random(), .hi = random()}, static_cast<Variant>(random() % kHostVariantCount));
  }
  const SectionView view = section.writer().view();
  std::size_t set = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Place place = view.place({.lo = random(), .hi = random()});
    const auto wanted = static_cast<std::uint32_t>(random()) & ((1U << kHostVariantCount) - 1);
    std::uint32_t want = 0;
    for (Variant v = 0; v < kHostVariantCount; ++v) {
      if ((wanted >> v & 1) != 0 && view.test(place, v)) want |= 1U << v;
    }
    ASSERT_EQ(view.test_variants(place, wanted), want);
    set += want != 0 ? 1 : 0;
  }
  EXPECT_GT(set, 1000U) << "a test of zeros against zeros would prove nothing";
  EXPECT_EQ(view.test_variants({}, 0), 0U);
}

TEST_P(SectionTest, ScalarAndAvx2AgreeOnAMillionPlaces) {
  force_simd_for_testing(Simd::avx2);
  if (active_simd() != Simd::avx2) GTEST_SKIP() << "this processor has no AVX2";
  OwnedSection by_avx2(geometry(), SectionKind::hosts);
  OwnedSection by_scalar(geometry(), SectionKind::hosts);
  std::mt19937_64 random(kSectionSeed);
  for (int i = 0; i < 60'000; ++i) {
    const Place place = by_avx2.writer().place({.lo = random(), .hi = random()});
    const auto variant = static_cast<Variant>(random() % kHostVariantCount);
    force_simd_for_testing(Simd::avx2);
    by_avx2.writer().insert_exclusive(place, variant);
    force_simd_for_testing(Simd::scalar);
    ASSERT_EQ(active_simd(), Simd::scalar);
    by_scalar.writer().insert_exclusive(place, variant);
  }
  ASSERT_TRUE(std::ranges::equal(by_avx2.writer().bytes(), by_scalar.writer().bytes()));

  constexpr std::size_t kPlaces = 1'000'000;
  const SectionView view = by_avx2.writer().view();
  std::vector<std::uint32_t> answers(kPlaces);
  for (const Simd simd : {Simd::avx2, Simd::scalar}) {
    force_simd_for_testing(simd);
    std::mt19937_64 questions(kSectionSeed + 1);
    std::size_t set = 0;
    for (std::uint32_t& answer : answers) {
      const Place place{.page = questions() % geometry().pages, .fingerprint = questions()};
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
    for (const SectionKind kind : {SectionKind::paths, SectionKind::hosts}) {
      for (const Simd simd : {Simd::avx2, Simd::scalar}) {
        SCOPED_TRACE(testing::Message() << count << " places");
        force_simd_for_testing(simd);
        std::mt19937_64 random(kSectionSeed);
        std::vector<Place> places(count);
        OwnedSection at_once(geometry(), kind), one_by_one(geometry(), kind);
        for (Place& place : places) place = at_once.writer().place({.lo = random(), .hi = random()});
        at_once.writer().insert_exclusive(places);
        for (const Place& place : places) one_by_one.writer().insert(place);
        ASSERT_TRUE(std::ranges::equal(at_once.writer().bytes(), one_by_one.writer().bytes()));
      }
    }
  }
}

TEST_P(SectionTest, ManyThreadsInsertingLoseNothing) {
  OwnedSection together(geometry(2), SectionKind::paths);
  OwnedSection alone(geometry(2), SectionKind::paths);
  const auto key = [](std::uint64_t i) { return Hash128{.lo = i * 0x9e3779b97f4a7c15, .hi = i * 0xbf58476d1ce4e5b9}; };
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t i = t; i < 4000; i += 4) together.writer().insert(key(i));
      });
    }
  }
  for (std::uint64_t i = 0; i < 4000; ++i) alone.writer().insert_exclusive(alone.writer().place(key(i)));
  EXPECT_TRUE(std::ranges::equal(together.writer().bytes(), alone.writer().bytes()));
}

TEST(SectionViewTest, WithoutBytesIsFalse) {
  const SectionView none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(none.bytes().empty());
}

}  // namespace
}  // namespace bloomwall::filter
