// Errors of whole requests: measured on a list with every kind of key, against their predictions.
// SPDX-License-Identifier: Apache-2.0
#include "filter/file/prediction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/filter/bits/owned_section.h"

namespace bloomwall::filter {
namespace {

Header counts_of(std::uint64_t suffixes, std::uint64_t exact, std::uint64_t urls) {
  Header h;
  h.kinds[index_of(Kind::suffix)].keys = suffixes;
  h.kinds[index_of(Kind::exact_host)].keys = exact;
  h.kinds[index_of(Kind::url)].keys = urls;
  h.marks = urls / 2;
  h.hosts = suffixes + exact + h.marks;
  h.mark_mask = urls == 0 ? 0 : 1U << kVariantMarkUrl;
  return h;
}
Geometry pages(std::uint64_t n, Layout layout = Layout::lines_4x4) { return {.layout = layout, .pages = n}; }

TEST(PredictionTest, ADomainListAsksHostsOnly) {
  const PredictedErrors e = predict(counts_of(100'000, 0, 0), {.hosts = pages(70), .paths = {}, .raw = {}});
  EXPECT_GT(e.host_key, 1e-6);
  EXPECT_EQ(e.path_key, 0);
  EXPECT_EQ(e.unlisted_host.mean_questions, 3);
  EXPECT_EQ(e.unlisted_host.p99_questions, 6);
  EXPECT_NEAR(e.unlisted_host.mean / e.host_key, 3, 1e-6);
  EXPECT_NEAR(e.unlisted_host.p99 / e.host_key, 6, 1e-6);
  EXPECT_EQ(e.listed_host.mean, e.unlisted_host.mean) << "no host of it has marks";
}

TEST(PredictionTest, EachKindOfHostKeyIsAskedWhereItCanMatch) {
  Header h = counts_of(100'000, 1000, 0);
  h.kinds[index_of(Kind::subdomains)].keys = 10;
  h.hosts += 10;
  const PredictedErrors e = predict(h, {.hosts = pages(70), .paths = {}, .raw = {}});
  EXPECT_EQ(e.unlisted_host.mean_questions, 3 + 1 + 2);
  EXPECT_EQ(e.unlisted_host.p99_questions, 6 + 1 + 5);
  EXPECT_NEAR(e.unlisted_host.mean / e.host_key, 6, 1e-6);
}

TEST(PredictionTest, TheLabelRangeLimitsTheSuffixesAsked) {
  Header h = counts_of(100'000, 0, 0);
  h.min_labels = 2;
  h.max_labels = 3;
  const PredictedErrors e = predict(h, {.hosts = pages(70), .paths = {}, .raw = {}});
  EXPECT_EQ(e.unlisted_host.mean_questions, 2);
  EXPECT_EQ(e.unlisted_host.p99_questions, 2);
}

TEST(PredictionTest, PathQuestionsFollowTheMarks) {
  Header h = counts_of(0, 0, 100'000);
  const Geometries g{.hosts = pages(70), .paths = pages(70), .raw = {}};
  EXPECT_EQ(predict(h, g).listed_host.p99_questions - predict(h, g).unlisted_host.p99_questions, 1);
  h.mark_mask |= 1U << kVariantMarkQuery | 1U << directory_mark(1);
  h.kinds[index_of(Kind::url_query)].keys = h.kinds[index_of(Kind::directory)].keys = 10;
  EXPECT_EQ(predict(h, g).listed_host.p99_questions - predict(h, g).unlisted_host.p99_questions, 3);
  h.mark_mask |= 1U << directory_mark(2) | 1U << directory_mark(9);
  EXPECT_EQ(predict(h, g).listed_host.p99_questions - predict(h, g).unlisted_host.p99_questions, 4);
  h.mark_mask = 0;  // not known yet: from the kinds
  EXPECT_EQ(predict(h, g).listed_host.p99_questions - predict(h, g).unlisted_host.p99_questions, 4);
  PredictedErrors e = predict(h, g);
  EXPECT_NEAR((e.listed_host.mean - e.unlisted_host.mean) / e.path_key, 1, 0.01);
  EXPECT_NEAR((e.listed_host.p99 - e.unlisted_host.p99) / e.path_key, 4, 0.04);
  h.path_questions = 3;  // fewer are no news
  EXPECT_EQ(predict(h, g).listed_host.p99, e.listed_host.p99);
  h.path_questions = 9;
  e = predict(h, g);
  EXPECT_EQ(e.listed_host.p99_questions - e.unlisted_host.p99_questions, 9);
  EXPECT_NEAR((e.listed_host.p99 - e.unlisted_host.p99) / e.path_key, 9, 0.09);
}

TEST(PredictionTest, TheWorstHostAsksEveryMarkOfEverySuffix) {
  Header h = counts_of(1000, 0, 100'000);
  const Geometries g{.hosts = pages(70), .paths = pages(70), .raw = {}};
  EXPECT_EQ(all_mark_questions(h), 1U);
  h.mark_mask |= 1U << kVariantMarkQuery | 1U << directory_mark(3) | 1U << directory_mark(16);
  h.kinds[index_of(Kind::directory)].keys = 10;
  EXPECT_EQ(all_mark_questions(h), 4U);
  h.max_depth = 20;
  EXPECT_EQ(all_mark_questions(h), 8U) << "16 to 20 share a mark";
  h.min_labels = 2;
  h.max_labels = 10;
  const WorstHost worst = worst_host(h, g);
  EXPECT_EQ(worst.path_questions, 8U);
  EXPECT_EQ(worst.host_questions, 9 * (1 + 4)) << "S and four marks of nine suffixes";
  const PredictedErrors e = predict(h, g);
  EXPECT_NEAR(worst.error, 9 * e.host_key + 8 * e.path_key, 0.01 * worst.error);
  EXPECT_EQ(worst_host(h, g, 6).path_questions, 6U) << "what is known of the hosts";
  h.path_questions = 7;
  EXPECT_EQ(worst_host(h, g, 6).path_questions, 7U) << "no fewer than at p99";
  h.mark_mask = 0;  // not known yet
  h.max_depth = 0;
  EXPECT_EQ(all_mark_questions(h), 1U + 16U);
  h.max_labels = h.min_labels = 0;
  EXPECT_EQ(worst_host(h, g).host_questions, 6 * (1 + 17));
  EXPECT_EQ(worst_host(counts_of(10, 0, 0), {.hosts = pages(1), .paths = {}, .raw = {}}).path_questions, 0U);
}

TEST(PredictionTest, TheWorstHostIsNeverBetterThanP99) {
  for (const std::uint64_t urls : {0U, 10U, 100'000U}) {
    for (const unsigned asked : {0U, 1U, 9U, 64U}) {
      Header h = counts_of(50'000, 500, urls);
      h.path_questions = asked;
      const Geometries g{.hosts = pages(70), .paths = urls > 0 ? std::optional(pages(70)) : std::nullopt, .raw = {}};
      const PredictedErrors e = predict(h, g);
      for (const unsigned most : {0U, 1U, 100U}) {
        EXPECT_GE(worst_host(h, g, most).error, std::max(e.unlisted_host.p99, e.listed_host.p99));
      }
    }
  }
}

TEST(PredictionTest, RawKeysTakeTheWholeFingerprint) {
  Header h;
  h.kinds[index_of(Kind::raw)] = {.entries = 100'000, .keys = 100'000};
  EXPECT_EQ(worst_host(h, {.hosts = {}, .paths = {}, .raw = pages(140)}).error,
            predict(h, {.hosts = {}, .paths = {}, .raw = pages(140)}).raw_key);
  EXPECT_EQ(predict(h, {.hosts = {}, .paths = {}, .raw = pages(140)}).raw_key,
            stored_rate(key_error(Layout::lines_4x4, SectionKind::raw, 100'000, 140)));
}

TEST(PredictionTest, AnEmptyListNeverErrs) {
  const PredictedErrors e = predict({}, {.hosts = pages(1), .paths = pages(1), .raw = pages(1)});
  EXPECT_EQ(e.host_key + e.path_key + e.raw_key + e.unlisted_host.p99 + e.listed_host.p99, 0);
}

TEST(PredictionTest, StoredRatesKeep24Bits) {
  EXPECT_EQ(stored_rate(0), 0);
  EXPECT_EQ(stored_rate(1), 1);
  EXPECT_EQ(stored_rate(7), 1);
  EXPECT_EQ(stored_rate(-1), 0);
  EXPECT_EQ(stored_rate(0.1), static_cast<double>(0.1F));
  EXPECT_EQ(stored_rate(0.1 * (1 + 1e-12)), stored_rate(0.1));
}

struct Setting {
  Layout layout;
  double target;
};
#ifdef BLOOMWALL_SANITIZED  // the others ask ten times as much of the same code
const auto kSettings = testing::Values(Setting{Layout::sectors_2x8, 1e-3}, Setting{Layout::lines_4x4, 1e-3});
#else
const auto kSettings = testing::Values(Setting{Layout::sectors_2x8, 1e-3}, Setting{Layout::sectors_2x8, 1e-4},
                                       Setting{Layout::lines_4x4, 1e-3}, Setting{Layout::lines_4x4, 1e-4});
#endif

// Hosts 0..kSuffixes-1 are S, then X, then hosts with a URL; the last 2 % of those have Q and D entries too, as
// in real lists.
class RequestErrorTest : public testing::TestWithParam<Setting> {
 protected:
  static constexpr std::uint64_t kSuffixes = 60'000, kExact = 20'000, kMarked = 400'000;
  static constexpr std::uint64_t kRich = kMarked / 50;
  static constexpr std::uint64_t kFirstMarked = kSuffixes + kExact;
  static constexpr std::uint64_t kFirstRich = kFirstMarked + kMarked - kRich;
  static constexpr std::uint64_t kHosts = kFirstMarked + kMarked;
  static constexpr std::uint32_t kRichMarks =
      1U << kVariantMarkUrl | 1U << kVariantMarkQuery | 1U << directory_mark(1) | 1U << directory_mark(2);

  Hash128 id(char space, std::uint64_t i) const {
    std::array<char, 9> text{space};
    std::memcpy(text.data() + 1, &i, sizeof i);
    return keys_.hash({text.data(), text.size()});
  }
  Hash128 host(std::uint64_t i) const { return id('h', i); }

  void SetUp() override {
    counts_ = counts_of(kSuffixes, kExact, kMarked);
    counts_.kinds[index_of(Kind::url_query)].keys = kRich;
    counts_.kinds[index_of(Kind::directory)].keys = 2 * kRich;
    counts_.marks = kMarked + 3 * kRich;
    counts_.hosts = kHosts;
    counts_.mark_mask = kRichMarks;
    const auto sized = [](const SectionLoad& load) {
      return pages(pages_for(load, GetParam().target / 4), GetParam().layout);
    };
    const Geometry hosts = sized(host_load(counts_, pages(1, GetParam().layout)));
    const Geometry paths = sized(path_load(counts_, pages(1, GetParam().layout)));
    host_load_ = host_load(counts_, hosts);
    hosts_ = std::make_unique<OwnedSection>(hosts, SectionKind::hosts);
    paths_ = std::make_unique<OwnedSection>(paths);
    for (std::uint64_t i = 0; i < kHosts; ++i) insert_host(i);
    predicted_ = predict(counts_, {.hosts = hosts, .paths = paths, .raw = {}});
  }

  void insert_host(std::uint64_t i) {
    const Hash128 hash = host(i);
    if (i < kSuffixes) return hosts_->writer().insert(hash, kVariantSuffix);
    if (i < kFirstMarked) return hosts_->writer().insert(hash, kVariantExactHost);
    hosts_->writer().insert(hash, kVariantMarkUrl);
    paths_->writer().insert(keys_.url(hash, id('l', 0)));
    if (i < kFirstRich) return;
    for (const Variant mark : {kVariantMarkQuery, directory_mark(1), directory_mark(2)})
      hosts_->writer().insert(hash, mark);
    paths_->writer().insert(keys_.url_query(hash, id('l', 0), id('r', 0)));
    paths_->writer().insert(keys_.directory(hash, id('l', 1)));
    paths_->writer().insert(keys_.directory(hash, id('l', 2)));
  }

  // What a proxy asks about one request for a path of its own with a query, two folders deep. True: blocked. S and X of
  // a listed host itself are left out: with that host their answer comes round again and again.
  bool blocked(const Hash128* suffixes, std::size_t count, bool first_is_listed, std::uint64_t request) const {
    const SectionView hosts = hosts_->view();
    for (std::size_t i = 0; i < count; ++i) {
      const bool listed = i == 0 && first_is_listed;
      const std::uint32_t host_kinds = 1U << kVariantSuffix | (i == 0 ? 1U << kVariantExactHost : 0);
      const std::uint32_t found = hosts.test_variants(hosts.place(suffixes[i]), kRichMarks | (listed ? 0 : host_kinds));
      if ((found & ~kRichMarks) != 0) return true;
      if (found != 0 && path_listed(suffixes[i], found, request)) return true;
    }
    return false;
  }
  bool path_listed(const Hash128& host, std::uint32_t marks, std::uint64_t request) const {
    const SectionView paths = paths_->view();
    const auto asked = [&](Variant mark, const Hash128& key) {
      return (marks >> mark & 1) != 0 && paths.test(paths.place(key));
    };
    const Hash128 path = id('p', request);
    return asked(kVariantMarkUrl, keys_.url(host, path)) ||
           asked(kVariantMarkQuery, keys_.url_query(host, path, id('q', request))) ||
           asked(directory_mark(1), keys_.directory(host, path)) ||
           asked(directory_mark(2), keys_.directory(host, id('d', request)));
  }

  // Requests with so many host suffixes; the first of them is host(first + i % range), or nobody's where range is 0. A
  // listed host has `own_sets`, and what is asked of it (see above; measured with the bits) is taken off the
  // prediction.
  void expect_rate(std::size_t suffixes, std::uint64_t first, std::uint64_t range, double predicted, const char* what,
                   double own_sets = 0) {
    if (range != 0) predicted -= 2 * question_error(host_load_, own_sets);
    const auto requests = static_cast<std::uint64_t>(450 / predicted);
    double hits = 0;
    std::array<Hash128, 6> asked{};
    for (std::uint64_t i = 0; i < requests; ++i) {
      asked[0] = id('s', i);
      for (std::size_t s = 1; s < suffixes; ++s)
        asked[s] = {.lo = asked[s - 1].lo * kOdd, .hi = asked[s - 1].hi * kOdd};
      if (range != 0) asked[0] = host(first + i % range);
      hits += blocked(asked.data(), suffixes, range != 0, i) ? 1 : 0;
    }
    const double want = static_cast<double>(requests) * predicted;
    RecordProperty(what, std::to_string(hits / want));
    EXPECT_NEAR(hits, want, 3 * std::sqrt(want)) << what << ", predicted " << predicted;
  }

  static constexpr std::uint64_t kOdd = 0xd1342543de82ef95;  // one hash a request is enough for all its strangers
  const KeyMaker keys_{SeriesKey{11, 1, 4, 1, 5, 9, 2, 6}};
  Header counts_;
  SectionLoad host_load_;
  PredictedErrors predicted_;
  std::unique_ptr<OwnedSection> hosts_, paths_;
};
INSTANTIATE_TEST_SUITE_P(Settings, RequestErrorTest, kSettings, [](const auto& of) {
  return std::string(of.param.layout == Layout::sectors_2x8 ? "Sectors2x8" : "Lines4x4") +
         (of.param.target > 5e-4 ? "At1e3" : "At1e4");
});

TEST_P(RequestErrorTest, OfTheMeanRequestToAnUnlistedHost) {
  expect_rate(3, 0, 0, predicted_.unlisted_host.mean, "unlisted_mean");
}

TEST_P(RequestErrorTest, OfTheLongestHostNamesThatAreUnlisted) {
  expect_rate(6, 0, 0, predicted_.unlisted_host.p99, "unlisted_p99");
}

TEST_P(RequestErrorTest, OfTheMeanRequestToAListedHost) {
  expect_rate(3, kFirstMarked, kMarked - kRich, predicted_.listed_host.mean, "listed_mean", 1);
}

TEST_P(RequestErrorTest, OfRequestsToHostsWithEveryMark) {
  expect_rate(6, kFirstRich, kRich, predicted_.listed_host.p99, "listed_p99", 4);
}

}  // namespace
}  // namespace bloomwall::filter
