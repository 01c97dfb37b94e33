// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/sizing.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace bloomwall::filter {
namespace {

struct Entries {
  std::uint64_t suffix = 0, exact = 0, url = 0, query = 0, directory = 0, raw = 0, url_hosts = 0;
};

Demand demand(const Entries& e) {
  Demand d{.counts = {}, .info_bytes = 300};
  const auto set = [&](Kind kind, std::uint64_t keys) { d.counts.kinds[index_of(kind)].keys = keys; };
  set(Kind::suffix, e.suffix);
  set(Kind::exact_host, e.exact);
  set(Kind::url, e.url);
  set(Kind::url_query, e.query);
  set(Kind::directory, e.directory);
  set(Kind::raw, e.raw);
  d.counts.marks = e.url_hosts;
  d.counts.hosts = e.suffix + e.exact + e.url_hosts;
  d.counts.min_labels = 2;
  d.counts.max_labels = 7;
  return d;
}

const Entries kHosts{.suffix = 300'000};
const Entries kExact{.exact = 50'000};
const Entries kUrls{.url = 200'000, .query = 30'000, .directory = 5'000, .url_hosts = 90'000};
const Entries kMixed{
    .suffix = 150'000, .exact = 1'000, .url = 100'000, .query = 10'000, .directory = 2'000, .url_hosts = 60'000};
const Entries kRaw{.raw = 400'000};

TEST(SizeForLooseErrors, FalseMarksCanBeAllowed) {
  for (const Entries& entries : {kMixed, kUrls}) {
    Demand d = demand(entries);
    const auto few = size_for_error(d, 1e-2);
    d.false_marks = 0.1;
    const auto many = size_for_error(d, 1e-2);
    ASSERT_TRUE(few && many);
    EXPECT_LE(worst_error(many->predicted), 1e-2);
    EXPECT_LT(static_cast<double>(many->file_bytes), 0.85 * static_cast<double>(few->file_bytes));
    EXPECT_EQ(choose_size(d, {.fpr = 1e-2})->file_bytes, few->file_bytes) << "the target says";
    EXPECT_EQ(choose_size(d, {.fpr = 1e-2, .false_marks = 0.1})->file_bytes, many->file_bytes);
  }
}

class SizeForError : public testing::TestWithParam<Entries> {};

TEST_P(SizeForError, MeetsTheTargetWithLittleToSpare) {
  const Demand d = demand(GetParam());
  for (const double target : {1e-3, 1e-6}) {
    const auto sizing = size_for_error(d, target);
    ASSERT_TRUE(sizing);
    EXPECT_LE(worst_error(sizing->predicted), target);
    EXPECT_LE(worst_error(predict(d.counts, sizing->sections)), target) << "what the writer will say of it";
    // Both sections 3 % smaller no longer do.
    Geometries less = sizing->sections;
    for (auto* section : {&less.hosts, &less.paths, &less.raw}) {
      if (*section) (*section)->pages = (*section)->pages * 97 / 100;
    }
    EXPECT_GT(worst_error(predict(d.counts, less)), target);
  }
}

TEST_P(SizeForError, MeetsTheTargetOnTheWorstHost) {
  Demand d = demand(GetParam());
  d.of = FprOf::worst;
  for (const unsigned most : {0U, 13U}) {
    d.most_path_questions = most;
    for (const double target : {1e-3, 1e-6}) {
      const auto sizing = size_for_error(d, target);
      ASSERT_TRUE(sizing);
      EXPECT_LE(target_error(d, sizing->sections), target);
      EXPECT_LE(worst_error(sizing->predicted), target);
      EXPECT_GT(target_error(d, sizing->sections), target * 0.8) << "with little to spare";
    }
  }
}

TEST_P(SizeForError, IsNoLargerThanEitherLayoutAlone) {
  const Demand d = demand(GetParam());
  for (const double target : {1e-5}) {
    const auto both = size_for_error(d, target);
    ASSERT_TRUE(both);
    for (const Layout only : {Layout::sectors_2x8, Layout::lines_4x4}) {
      const auto alone = size_for_error(d, target, only);
      ASSERT_TRUE(alone);
      // Sections are chosen one by one for a share of the error, so a lucky fit of whole pages may be missed.
      EXPECT_LE(static_cast<double>(both->file_bytes), static_cast<double>(alone->file_bytes) * 1.01);
      for (const auto& section : {alone->sections.hosts, alone->sections.paths, alone->sections.raw}) {
        if (section) {
          EXPECT_EQ(section->layout, only);
        }
      }
    }
  }
}

TEST_P(SizeForError, GivesASectionToEveryKindThatIsThere) {
  const auto sizing = size_for_error(demand(GetParam()), 1e-4);
  ASSERT_TRUE(sizing);
  EXPECT_EQ(sizing->sections.hosts.has_value(), GetParam().raw == 0);
  EXPECT_EQ(sizing->sections.paths.has_value(), GetParam().url > 0);
  EXPECT_EQ(sizing->sections.raw.has_value(), GetParam().raw > 0);
}

TEST_P(SizeForError, IsTheSameEveryTime) {
  const Demand d = demand(GetParam());
  const auto a = size_for_error(d, 1e-5);
  const auto b = size_for_error(d, 1e-5);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->sections.hosts, b->sections.hosts);
  EXPECT_EQ(a->sections.paths, b->sections.paths);
  EXPECT_EQ(a->sections.raw, b->sections.raw);
}

TEST_P(SizeForError, MemoryAndErrorAgree) {
  const Demand d = demand(GetParam());
  const auto by_error = size_for_error(d, 1e-4);
  ASSERT_TRUE(by_error);
  const auto by_memory = size_for_memory(d, by_error->file_bytes);
  ASSERT_TRUE(by_memory);
  EXPECT_LE(by_memory->file_bytes, by_error->file_bytes);
  EXPECT_LE(worst_error(by_memory->predicted), 1e-4 * 1.001);
  EXPECT_GE(worst_error(by_memory->predicted), 1e-4 * 0.9) << "but for what whole pages give away";
}

INSTANTIATE_TEST_SUITE_P(Lists, SizeForError, testing::Values(kHosts, kExact, kUrls, kMixed, kRaw));

TEST(Sizing, FewHostsAmongManyUrlsGetAbout32Bits) {
  Demand d = demand({.suffix = 2'000'000, .url = 1'000'000'000, .url_hosts = 20'000'000});
  const auto sizing = size_for_error(d, 1e-4);
  ASSERT_TRUE(sizing);
  const double bits = static_cast<double>(sizing->sections.hosts->bytes()) * 8 / 22e6;
  EXPECT_GT(bits, 28);
  EXPECT_LT(bits, 38);
}

// Of a host of three labels: two suffixes, and the marks of U, Q and D1 to D6 where nobody knows better.
TEST(Sizing, AtMostOneHostInTenThousandSeemsToHaveMarks) {
  struct Row {
    const char* what;
    Entries entries;
    std::uint32_t mask;
    double questions;
  };
  const Row rows[] = {{"marks alone", kUrls, 0, 16},
                      {"marks alone, known", kUrls, variant_bit(kVariantMarkUrl), 2},
                      {"every mark", kUrls, kMarkBits, 36},
                      {"beside hosts", kMixed, 0, 16},
                      {"beside hosts, every mark", kMixed, kMarkBits, 36}};
  for (const Row& row : rows) {
    for (const double target : {1e-2, 1e-4, 1e-6}) {
      Demand d = demand(row.entries);
      d.counts.mark_mask = row.mask;
      const auto sizing = size_for_error(d, target);
      ASSERT_TRUE(sizing) << row.what;
      const double needless = row.questions * sizing->predicted.host_key;
      EXPECT_LE(needless, 1e-4) << row.what << " " << target;
      EXPECT_LE(worst_error(sizing->predicted), target) << row.what << " " << target;
      const bool is_for_marks_alone = row.entries.suffix == 0;
      EXPECT_TRUE(!is_for_marks_alone || needless > 0.85e-4) << row.what << ", more would be wasted: " << needless;
    }
  }
}

// Pages are whole: a list whose H just misses the target with so many of them must get one more, not a refusal. Every
// count would do; a stride that shares no factor with the sizes of pages keeps the test short.
TEST(Sizing, IsPossibleWheneverHalfTheErrorIs) {
  constexpr std::uint64_t kStride = 61;
  std::size_t asked = 0;
  for (std::uint64_t hosts = 1; hosts <= 5000; hosts += kStride) {
    for (const std::uint64_t urls : {0U, 1U, 4U, 50U}) {
      for (const double target : {1e-2, 1e-4, 1e-6, 0.999e-6, 1e-7, 1e-8}) {
        Demand d = demand({.suffix = hosts, .url = urls, .url_hosts = (urls + 2) / 3});
        d.counts.max_labels = 3;
        for (const std::optional<Layout> only :
             {std::optional<Layout>{}, std::optional(Layout::sectors_2x8), std::optional(Layout::lines_4x4)}) {
          const auto sizing = size_for_error(d, target, only);
          ++asked;
          if (sizing) {
            EXPECT_LE(worst_error(sizing->predicted), target) << hosts << " hosts, " << urls << " URLs";
          } else {
            EXPECT_FALSE(size_for_error(d, target / 2, only)) << hosts << " hosts, " << urls << " URLs, " << target;
          }
        }
      }
    }
  }
  EXPECT_EQ(asked, 82U * 4 * 6 * 3);
}

TEST(Sizing, AListThatJustMissesAWholePageGetsIt) {
  const struct {
    std::uint64_t hosts, urls, url_hosts;
    double target;
  } rows[] = {{2025, 1, 1, 1e-6}, {2026, 1, 1, 1e-6}, {2175, 1, 1, 1e-6},
              {2025, 4, 2, 1e-6}, {712, 1, 1, 1e-8},  {957, 25, 9, 1e-6}};
  for (const auto& row : rows) {
    Demand d = demand({.suffix = row.hosts, .url = row.urls, .url_hosts = row.url_hosts});
    d.counts.max_labels = 3;
    const auto sizing = size_for_error(d, row.target);
    ASSERT_TRUE(sizing) << row.hosts;
    EXPECT_LE(worst_error(sizing->predicted), row.target);
  }
}

TEST(Sizing, TenEntriesMakeKilobytes) {
  const auto sizing = size_for_error(demand({.suffix = 10}), kDefaultTarget);
  ASSERT_TRUE(sizing);
  EXPECT_EQ(*sizing->sections.hosts, (Geometry{.layout = Layout::sectors_2x8, .pages = 1})) << "ties go to 2x8";
  EXPECT_LT(sizing->file_bytes, 17'000U) << "header, page, info, sums, leaves";
}

TEST(Sizing, LargeSectionsAreWholeRanges) {
  constexpr std::uint64_t kPagesPerMiB = 256;
  struct Case {
    std::uint64_t pages;
    std::uint64_t ranges;
  };
  for (const auto& [pages, ranges] :
       {Case{1, 1}, Case{2 * kPagesPerMiB - 1, 1}, Case{2 * kPagesPerMiB + 1, 2}, Case{3 * kPagesPerMiB, 2},
        Case{4 * kPagesPerMiB + 1, 4}, Case{100 * kPagesPerMiB, 64}, Case{1024 * kPagesPerMiB + 3, 1024},
        Case{30'000 * kPagesPerMiB, 1024}}) {
    const Geometry g = geometry_of(Layout::lines_4x4, pages);
    EXPECT_EQ(g.pages % ranges, 0U) << pages;
    EXPECT_GE(g.pages, pages);
    EXPECT_LE(static_cast<double>(g.pages), static_cast<double>(pages) * 1.004) << pages;
  }
}

// Ten filters add up, so one of them is asked for 1e-7 to 1e-9.
TEST(Sizing, SmallErrorsOfHostsAreAffordable) {
  for (const auto& [target, most_bytes] : {std::pair{1e-7, 600'000U}, std::pair{1e-8, 800'000U}, {1e-9, 1'000'000U}}) {
    const auto sizing = size_for_error(demand({.suffix = 100'000}), target);
    ASSERT_TRUE(sizing) << target;
    EXPECT_LE(worst_error(sizing->predicted), target);
    EXPECT_LE(sizing->file_bytes, most_bytes) << target;
  }
}

TEST(Sizing, FileBytesCountAlignmentAndDigests) {
  Geometries small;
  small.hosts = Geometry{};
  // Header, one page, info at the next page, the sum of the page at the one after, then digests of three leaves.
  EXPECT_EQ(file_bytes_of(small, 300), 4096U + 4096 + 4096 + 4096 + 3 * 48);
  Geometries large;
  constexpr std::uint64_t kMiB = 1 << 20;
  large.hosts = Geometry{.layout = Layout::sectors_2x8, .pages = 32 * kMiB / kPageBytes};
  constexpr std::uint64_t kSums = 32 * kMiB / kPageBytes * 4;
  EXPECT_EQ(file_bytes_of(large, 300), 2 * kMiB + 32 * kMiB + 4096 + kSums + 10 * 48);
  large.hosts->pages -= 1;
  EXPECT_EQ(file_bytes_of(large, 300), 4096 + 32 * kMiB - 4096 + 4096 + kSums + 10 * 48)
      << "below 32 MiB nothing is left empty";
}

TEST(ChooseSize, MeetsTheDefaultTargetWhereNothingIsAsked) {
  const auto sizing = choose_size(demand(kHosts), {});
  ASSERT_TRUE(sizing);
  EXPECT_LE(worst_error(sizing->predicted), kDefaultTarget);
  EXPECT_GT(worst_error(sizing->predicted), kDefaultTarget / 2);
}

TEST(ChooseSize, MemoryAloneIsAnUpperBound) {
  const auto roomy = choose_size(demand(kHosts), {.fpr = {}, .memory = 1'000'000'000});
  ASSERT_TRUE(roomy);
  EXPECT_LT(roomy->file_bytes, 3'000'000U) << "no larger than the default target needs";
  const auto tight = choose_size(demand(kHosts), {.fpr = {}, .memory = 700'000});
  ASSERT_TRUE(tight);
  EXPECT_LE(tight->file_bytes, 700'000U);
  EXPECT_GT(tight->file_bytes, 680'000U);
  EXPECT_GT(worst_error(tight->predicted), 1e-4);
}

TEST(ChooseSize, BothMayBeMet) {
  const auto sizing = choose_size(demand(kHosts), {.fpr = 1e-3, .memory = 1'000'000});
  ASSERT_TRUE(sizing);
  EXPECT_LE(sizing->file_bytes, 1'000'000U);
  EXPECT_LE(worst_error(sizing->predicted), 1e-3);
}

std::string refusal(const Entries& entries, const Target& target) {
  const auto sizing = choose_size(demand(entries), target);
  if (sizing) return "taken";
  EXPECT_EQ(sizing.error().code, Errc::unmet_target);
  return sizing.error().text();
}

TEST(ChooseSize, SaysWhatWouldBePossible) {
  EXPECT_EQ(
      refusal(kHosts, {.fpr = 1e-6, .memory = 700'000}),
      "700.0 kB do not suffice: what fits errs on 1.20e-03 of the requests; it takes 1.3 MB for an error of 1.00e-06");
  EXPECT_EQ(
      refusal(kHosts, {.fpr = {}, .memory = 50'000}),
      "50.0 kB do not suffice: what fits errs on more than 1.00e-01 of the requests; it takes 1.3 MB for an error of "
      "1.00e-06");
  EXPECT_EQ(refusal(kHosts, {.fpr = 0.9e-9, .memory = {}}), "an error below 1.00e-09 per request is not offered");
}

}  // namespace
}  // namespace bloomwall::filter
