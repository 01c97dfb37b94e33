// Random filters, deltas, allow lists and URLs against a naive exact model of the same rules: sets of expression texts.
// Never a false negative; false positives only as often as the file's own bits predict.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "filter/policy/lookup.h"
#include "filter/policy/query.h"
#include "tests/filter/policy/naive_model.h"

namespace bloomwall::filter {
namespace {

class Oracle : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Oracle, JudgeAgreesWithTheNaiveModel) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  Random random(GetParam());
  Model model;
  std::vector<TestFilter> filters;
  for (std::size_t i = 0; i < 3; ++i) {
    filters.push_back(random_filter(random, "f" + std::to_string(i), model.filters.emplace_back()));
  }
  filters[2].series = 1;  // that of the first
  const std::string allow = random_allow_list(random, filters.size(), model);
  PolicyMaker policy(filters, allow);
  std::map<std::string, int> seen;
  for (int i = 0; i < 10000; ++i) {
    const RandomUrl url = random.url();
    const Verdict verdict = policy.judge(url.text());
    const std::string says = std::string(to_string(verdict.decision)) + " " +
                             (verdict.filter != nullptr ? verdict.filter->name : to_string(verdict.reason));
    ASSERT_EQ(says, model.say(url)) << url.text();
    ++seen[says];
  }
  EXPECT_GE(seen.size(), 3U) << "the model was not exercised";
}

// The hashes of a URL are kept by series, for eight of them: which filters share one must change nothing, also where
// there are more, in any order.
TEST_P(Oracle, SharedSeriesGiveTheVerdictsOfDistinctOnes) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  constexpr std::size_t kDrawn = 20;
  Random random(GetParam());
  std::vector<TestFilter> filters;
  Model model;
  for (std::size_t i = 0; i < kDrawn; ++i) {
    filters.push_back(random_filter(random, "f" + std::to_string(i), model.filters.emplace_back()));
    filters.back().entries.resize(8);
    if (random.one_in(2)) filters.back().changes.clear();
    if (!random.one_in(6)) filters.back().action = kMonitor;
  }
  const std::string allow = random.one_in(2) ? random_allow_list(random, kDrawn, model) : "";
  PolicyMaker distinct(filters, allow);
  std::vector<std::unique_ptr<PolicyMaker>> others;
  for (const std::size_t series : std::vector<std::size_t>{1, 7, 9, 11}) {
    const bool in_turn = random.one_in(2);
    for (std::size_t i = 0; i < kDrawn; ++i) {
      filters[i].series = static_cast<std::uint8_t>(100 + (in_turn ? i % series : random.below(series)));
    }
    others.push_back(std::make_unique<PolicyMaker>(filters, allow));
  }
  std::map<std::string, int> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string url = random.url().text();
    const std::string wanted = distinct.say(url);
    for (const auto& other : others) ASSERT_EQ(other->say(url), wanted) << url;
    ++seen[wanted.substr(0, wanted.rfind(' '))];
  }
  EXPECT_GE(seen.size(), 10U) << "the filters were not exercised";
}

INSTANTIATE_TEST_SUITE_P(Seeds, Oracle, testing::Range<std::uint64_t>(1, 9));

// Counts questions by section.
class Counter final : public LookupTrace {
 public:
  void asked(const Question& question, LookupAnswer) override {
    const bool of_paths = is_path_kind(question.kind) && !question.is_mark;
    if (of_paths) ++paths;
    if (!of_paths && !question.is_mark) ++hosts;
  }
  std::uint64_t hosts = 0, paths = 0;
};

struct Measured {
  std::uint64_t hits = 0, path_hits = 0;
  Counter questions;
};

Measured ask_all(const FilterFile& file, const std::vector<std::string>& urls) {
  const FilterPlan plan(file);
  Canonicaliser canonicaliser;
  Measured out;
  for (const std::string& text : urls) {
    const CanonicalUrl& url = canonicaliser.url(text);
    UrlParts parts(url);
    parts.use_form(url.forms[0]);
    UrlHashes hashes(file.keys(), parts);
    Lookup lookup({.file = &file, .delta = nullptr, .plan = &plan}, hashes, Scope::url, &out.questions);
    bool is_done = lookup.start();
    while (!is_done) is_done = lookup.advance();
    if (!lookup.match()) continue;
    ++out.hits;
    if (is_path_kind(lookup.match()->kind)) ++out.path_hits;
  }
  return out;
}

// A filter so full that it errs often: kHosts domains, and ten URLs on each of as many hosts.
class ErrorRate : public testing::TestWithParam<Layout> {
 protected:
  static constexpr int kHosts = 2600;
  static constexpr int kAsked = 300'000;
  ErrorRate() {
    const FilterRecipe recipe{.entries = {}, .host_pages = 2, .path_pages = 9, .layout = GetParam()};
    FilterMaker maker(recipe);
    for (int i = 0; i < kHosts; ++i) {
      const std::string host = "h" + std::to_string(i) + ".test";
      maker.add(OwnEntry("S s" + host));
      for (int p = 0; p < 10; ++p) maker.add(OwnEntry("U " + host + "/p" + std::to_string(p)));
    }
    maker.write(folder_ / "f.bwf");
    file_ = open_filter(folder_ / "f.bwf");
  }
  TempFolder folder_;
  std::unique_ptr<FilterFile> file_;
};

TEST_P(ErrorRate, NoListedUrlIsMissed) {
  std::vector<std::string> urls;
  for (int i = 0; i < kHosts; ++i) {
    const std::string host = "h" + std::to_string(i) + ".test";
    urls.push_back("http://www.s" + host + "/any?q");
    for (int p = 0; p < 10; ++p) urls.push_back("http://" + host + "/p" + std::to_string(p) + "?x");
  }
  EXPECT_EQ(ask_all(*file_, urls).hits, urls.size());
}

TEST_P(ErrorRate, UnlistedUrlsOnListedHostsAreHitAsOftenAsTheBitsPredict) {
  std::vector<std::string> urls;
  for (int i = 0; i < kAsked; ++i)
    urls.push_back("http://h" + std::to_string(i % kHosts) + ".test/n" + std::to_string(i));
  const Measured measured = ask_all(*file_, urls);
  const PredictedErrors& predicted = file_->header().predicted;
  ASSERT_GE(measured.questions.paths, urls.size() * 9 / 10);
  const double expected = static_cast<double>(measured.questions.paths) * predicted.path_fill;
  ASSERT_GT(expected, 400);
  // Of path kinds alone: where a host kind errs, it errs for all the URLs of that host, and the sum is no sample.
  EXPECT_NEAR(static_cast<double>(measured.path_hits), expected, 4 * std::sqrt(expected) + 0.05 * expected);
}

TEST_P(ErrorRate, UnlistedHostsAreHitAsOftenAsTheBitsPredict) {
  std::vector<std::string> urls;
  for (int i = 0; i < kAsked; ++i) urls.push_back("http://u" + std::to_string(i) + ".test/p1");
  const Measured measured = ask_all(*file_, urls);
  const PredictedErrors& predicted = file_->header().predicted;
  const double expected = static_cast<double>(measured.questions.hosts) * predicted.host_fill +
                          static_cast<double>(measured.questions.paths) * predicted.path_fill;
  ASSERT_GT(expected, 400);
  EXPECT_NEAR(static_cast<double>(measured.hits), expected, 4 * std::sqrt(expected) + 0.05 * expected);
}

INSTANTIATE_TEST_SUITE_P(Layouts, ErrorRate, testing::Values(Layout::sectors_2x8, Layout::lines_4x4));

}  // namespace
}  // namespace bloomwall::filter
