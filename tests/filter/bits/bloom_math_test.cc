// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/bloom_math.h"

#include <chrono>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/filter/bits/owned_section.h"

namespace bloomwall::filter {
namespace {

constexpr double kPageBits = kPageBytes * 8;
double floor_of(double keys, double pages) { return keys / pages / std::pow(2.0, 35); }

// Of P.
double key_error(Layout layout, double keys, std::uint64_t pages) {
  return filter::key_error(layout, SectionKind::paths, keys, pages);
}
std::uint64_t pages_for(Layout layout, double keys, double target, SectionKind kind = SectionKind::paths) {
  return filter::pages_for({.layout = layout, .kind = kind, .keys = keys}, target);
}

// The same expectation the long way round: every number of keys in a page, every load of a line, occupied cells by a
// recursion over single throws, positive terms only. Lines of 2x8 taken as independent, so it is up to 2 % above.
double long_way(Layout layout, double mean_keys) {
  const bool sectors = layout == Layout::sectors_2x8;
  const double p = (sectors ? 2.0 : 4.0) / 64;
  const auto most = static_cast<std::size_t>(mean_keys + 12 * std::sqrt(mean_keys) + 20);
  std::vector<double> line(most + 1);  // chance that a line with i sets passes
  std::vector<double> occupied(513, 0.0);
  occupied[0] = 1;
  for (std::size_t i = 0; i <= most; ++i) {
    double pass = 0;
    for (std::size_t x = 0; x <= 512; ++x) pass += occupied[x] * std::pow(static_cast<double>(x) / 512, 4);
    line[i] = sectors ? std::pow(1 - std::pow(63.0 / 64, static_cast<double>(i)), 8) : pass;
    for (int bit = 0; bit < (sectors ? 0 : 4); ++bit) {
      for (std::size_t x = 512; x > 0; --x) {
        occupied[x] = occupied[x] * static_cast<double>(x) / 512 + occupied[x - 1] * static_cast<double>(513 - x) / 512;
      }
      occupied[0] = 0;
    }
  }
  double total = 0;
  for (std::size_t n = 0; n <= most; ++n) {
    const double log_poisson =
        static_cast<double>(n) * std::log(mean_keys) - mean_keys - std::lgamma(static_cast<double>(n) + 1);
    double pass = 0;
    for (std::size_t i = 0; i <= n; ++i) {
      const double log_ways = std::lgamma(static_cast<double>(n) + 1) - std::lgamma(static_cast<double>(i) + 1) -
                              std::lgamma(static_cast<double>(n - i) + 1);
      const double d = static_cast<double>(i);
      pass += std::exp(log_ways + d * std::log(p) + static_cast<double>(n - i) * std::log1p(-p)) * line[i];
    }
    total += std::exp(log_poisson) * std::pow(pass, sectors ? 2 : 4);
  }
  return total;
}

TEST(KeyErrorTest, AgreesWithTheSumOverAllLoads) {
  for (const double bits : {12.0, 18.0, 24.0, 32.0}) {
    const double mean = kPageBits / bits;
    const auto pages = std::uint64_t{2'000'000};
    const double keys = mean * static_cast<double>(pages);
    const double floor = floor_of(keys, static_cast<double>(pages));
    EXPECT_NEAR((key_error(Layout::lines_4x4, keys, pages) - floor) / long_way(Layout::lines_4x4, mean), 1, 1e-4)
        << bits;
    EXPECT_NEAR((key_error(Layout::sectors_2x8, keys, pages) - floor) / long_way(Layout::sectors_2x8, mean), 0.99, 0.01)
        << bits;
  }
}

// Published figures of both layouts at given bits a key (theory of blocked filters within pages, to three digits).
TEST(KeyErrorTest, AgreesWithPublishedFigures) {
  struct Figure {
    Layout layout;
    double bits, error;
  };
  for (const Figure& f : {Figure{Layout::sectors_2x8, 24, 1.78e-5}, Figure{Layout::sectors_2x8, 16, 8.59e-4},
                          Figure{Layout::sectors_2x8, 20, 1.10e-4}, Figure{Layout::sectors_2x8, 28, 3.53e-6},
                          Figure{Layout::lines_4x4, 24, 1.14e-5}, Figure{Layout::lines_4x4, 26, 4.66e-6},
                          Figure{Layout::lines_4x4, 28, 2.00e-6}}) {
    const std::uint64_t pages = 100'000;
    const double keys = static_cast<double>(pages) * kPageBits / f.bits;
    EXPECT_NEAR(key_error(f.layout, keys, pages) / f.error, 1, 0.035) << f.bits;
  }
}

TEST(KeyErrorTest, IsRightForTheTiniestFilters) {
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    EXPECT_EQ(key_error(layout, 0, 1), 0);
    EXPECT_EQ(key_error(layout, 0, 1000), 0);
    for (const double keys : {1.0, 2.0, 10.0, 50.0}) {
      EXPECT_NEAR(key_error(layout, keys, 1) / floor_of(keys, 1), 1, 1e-3) << keys;
      EXPECT_NEAR(key_error(layout, keys, 1000) / floor_of(keys, 1000), 1, 1e-3) << keys;
    }
    // One page holds exactly all keys; many pages of the same load hold them unevenly, which costs a little.
    const double one = key_error(layout, 1365, 1);
    const double two = key_error(layout, 2730, 2);
    const double many = key_error(layout, 1365e6, 1'000'000);
    EXPECT_LT(one, two);
    EXPECT_LT(two, many);
    EXPECT_NEAR(one / many, 1, 0.2);
  }
}

TEST(KeyErrorTest, ABinomialOfManyPagesIsAPoisson) {
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    const double just_below = key_error(layout, 1365.0 * 999'999, 999'999);
    EXPECT_NEAR(just_below / key_error(layout, 1365e6, 1'000'000), 1, 1e-4);
  }
}

TEST(KeyErrorTest, IsRightForTenBillionKeysAndForHopelessLoads) {
  const double small = key_error(Layout::lines_4x4, 1e6, 712);
  EXPECT_NEAR(key_error(Layout::lines_4x4, 1e10, 7'120'000) / small, 1, 0.01);
  EXPECT_NEAR(key_error(Layout::sectors_2x8, 1e10, 1), 1, 1e-12);
  EXPECT_NEAR(key_error(Layout::sectors_2x8, 1e5, 1), 1, 1e-6);
  EXPECT_LE(key_error(Layout::lines_4x4, 6e4, 1), 1.0);
}

TEST(KeyErrorTest, FallsWithPagesAndRisesWithKeys) {
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    double before = 1;
    for (std::uint64_t pages = 1; pages < (std::uint64_t{1} << 40); pages *= 3) {
      const double error = key_error(layout, 1e7, pages);
      EXPECT_LE(error, before);
      before = error;
    }
    before = 0;
    for (double keys = 1; keys < 1e9; keys *= 1.7) {
      const double error = key_error(layout, keys, 1000);
      EXPECT_GE(error, before);
      before = error;
    }
  }
}

TEST(KeyErrorTest, FingerprintsEndTheErrorOfPathsAlone) {
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    const double keys = 1e5 * kPageBits / 55;
    const auto error = [&](SectionKind kind) { return filter::key_error(layout, kind, keys, 100'000); };
    EXPECT_NEAR((error(SectionKind::paths) - error(SectionKind::raw)) / floor_of(keys, 1e5), 1, 1e-3);
    EXPECT_LT(error(SectionKind::raw), 1e-8);
    const SectionLoad hosts{.layout = layout, .kind = SectionKind::hosts, .pages = 100'000, .keys = keys, .sets = keys};
    EXPECT_NEAR(question_error(hosts) / error(SectionKind::raw), 1, 1e-6);
  }
}

TEST(QuestionErrorTest, SetsThatShareLinesErrMore) {
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    const auto error = [layout](double sets_a_host, double own) {
      return question_error(
          {.layout = layout, .kind = SectionKind::hosts, .pages = 1000, .keys = 1e6 / sets_a_host, .sets = 1e6}, own);
    };
    EXPECT_NEAR(error(1, 0) / filter::key_error(layout, SectionKind::raw, 1e6, 1000), 1, 1e-9);
    EXPECT_GT(error(1.02, 0), error(1, 0));
    EXPECT_GT(error(4, 0), 1.2 * error(1, 0));
    EXPECT_GT(error(1, 1), 1.1 * error(1, 0)) << "a host that is in H already has bits in the lines asked";
    EXPECT_GT(error(1, 2), error(1, 1));
  }
}

TEST(PagesForTest, IsTheInverse) {
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    for (const double keys : {1e3, 1e5, 1e8, 1e10}) {
      for (const double target : {1e-2, 1e-4, 1e-6}) {
        const std::uint64_t pages = pages_for(layout, keys, target);
        ASSERT_GE(pages, 1U);
        EXPECT_LE(key_error(layout, keys, pages), target);
        if (pages > 1) {
          EXPECT_GT(key_error(layout, keys, pages - 1 - pages / 500'000), target) << keys << " " << target;
        }
      }
    }
  }
}

TEST(PagesForTest, NoKeysTakeOnePageAndTheImpossibleNone) {
  EXPECT_EQ(pages_for(Layout::sectors_2x8, 0, 1e-6), 1U);
  EXPECT_EQ(pages_for(Layout::sectors_2x8, 10, 1e-6), 1U);
  EXPECT_EQ(pages_for(Layout::sectors_2x8, 10, 0), 0U);
  EXPECT_EQ(pages_for(Layout::lines_4x4, 1e10, 1e-12), 0U);
  // Below the floor of dense pages more pages help: a page holds fewer keys that could share a fingerprint.
  const std::uint64_t sparse = pages_for(Layout::lines_4x4, 1e6, 1e-9);
  EXPECT_NEAR(static_cast<double>(sparse), 1e6 / (1e-9 * std::pow(2.0, 35)), 50);
  EXPECT_LT(pages_for(Layout::lines_4x4, 1e6, 1e-9, SectionKind::raw), sparse / 10);
}

TEST(FillErrorTest, OfKnownBits) {
  std::vector<std::byte> pages(3 * kPageBytes);
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    EXPECT_EQ(fill_error(layout, {}), 0);
    std::fill(pages.begin(), pages.end(), std::byte{0});
    EXPECT_EQ(fill_error(layout, pages), 0);
    std::fill(pages.begin(), pages.begin() + kPageBytes, std::byte{0xff});
    EXPECT_DOUBLE_EQ(fill_error(layout, pages), 1.0 / 3);
    std::fill(pages.begin(), pages.end(), std::byte{0x0f});  // every word half full
    EXPECT_DOUBLE_EQ(fill_error(layout, pages), std::pow(0.5, 16));
  }
  // One full line in a page: a question of two lines can't hit it twice.
  std::fill(pages.begin(), pages.end(), std::byte{0});
  std::fill(pages.begin(), pages.begin() + kLineBytes, std::byte{0xff});
  EXPECT_EQ(fill_error(Layout::sectors_2x8, pages), 0);
  std::fill(pages.begin() + kLineBytes, pages.begin() + 2 * kLineBytes, std::byte{0xff});
  EXPECT_DOUBLE_EQ(fill_error(Layout::sectors_2x8, pages), 2.0 / (64 * 63) / 3);
}

TEST(FillErrorTest, ComesNearThePredictionFromCounts) {
  constexpr unsigned kSeed = 3;
  std::mt19937_64 random(kSeed);
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    for (const SectionKind kind : {SectionKind::paths, SectionKind::hosts}) {
      const Geometry g{.layout = layout, .pages = 800};
      OwnedSection section(g, kind);
      const double keys = std::floor(static_cast<double>(g.pages) * kPageBits / 16);
      for (double i = 0; i < keys; ++i) {
        section.writer().insert_exclusive(section.writer().place({random(), random()}));
      }
      const double predicted =
          question_error({.layout = layout, .kind = kind, .pages = g.pages, .keys = keys, .sets = keys});
      EXPECT_NEAR(fill_error(layout, section.view().bytes()) / predicted, 1, 0.03)
          << static_cast<int>(layout) << " kind " << static_cast<int>(kind) << " seed " << kSeed;
    }
  }
}

}  // namespace
}  // namespace bloomwall::filter
