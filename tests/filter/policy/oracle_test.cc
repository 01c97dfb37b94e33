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
#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

// A URL over a small alphabet, so that entries and requests meet often.
struct RandomUrl {
  std::vector<std::string> labels, segments;
  std::string query;
  bool has_last_slash = false;
  bool is_address = false;

  std::string host(std::size_t from = 0) const {
    std::string out;
    for (std::size_t i = from; i < labels.size(); ++i) out += (i == from ? "" : ".") + labels[i];
    return out;
  }
  std::string path(std::size_t depth) const {  // without a slash at its end
    std::string out;
    for (std::size_t i = 0; i < depth; ++i) out += "/" + segments[i];
    return out;
  }
  std::string text() const {
    std::string out = "http://" + host() + path(segments.size());
    if (segments.empty() || has_last_slash) out += '/';
    return query.empty() ? out : out + "?" + query;
  }
  // As servers read it that take parameters of segments away.
  RandomUrl bare() const {
    RandomUrl out = *this;
    for (std::string& segment : out.segments) segment = segment.substr(0, segment.find(';'));
    return out;
  }
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine_); }
  bool one_in(std::size_t n) { return below(n) == 0; }

  RandomUrl url() {
    static const std::vector<std::string> kLabels{"a", "b", "www", "cdn", "x-1", "_t"};
    static const std::vector<std::string> kTops{"test", "example", "zip"};
    static const std::vector<std::string> kSegments{"a", "b", "index.html", "c;d", "%20", "e+f"};
    RandomUrl out;
    out.is_address = one_in(10);
    if (out.is_address) {
      out.labels = {"192", "0", "2", std::to_string(below(5))};
    } else {
      for (std::size_t n = below(5); n > 0; --n) out.labels.push_back(kLabels[below(kLabels.size())]);
      out.labels.push_back(kTops[below(kTops.size())]);
    }
    const std::size_t depth = one_in(8) ? below(24) : below(4);
    for (std::size_t i = 0; i < depth; ++i) out.segments.push_back(kSegments[below(depth > 4 ? 1 : kSegments.size())]);
    if (one_in(3)) out.query = one_in(2) ? "q" : "r=1&s";
    out.has_last_slash = one_in(2);
    return out;
  }

  // "K host/path?query" of an expression of a random URL.
  std::string entry() {
    const RandomUrl at = url();
    const std::size_t depth = at.segments.size();
    const std::size_t kind = below(6);
    std::size_t suffix = at.is_address ? 0 : below(at.labels.size());
    // A listed top-level domain hides all else; now and then is enough.
    if (kind < 3 && suffix + 1 == at.labels.size() && !one_in(40)) suffix = 0;
    const std::string host = at.host(suffix);
    if (kind < 3 || depth == 0) return (at.is_address ? "X " : kind == 0 ? "S " : kind == 1 ? "X " : "W ") + host;
    if (kind == 3) return "U " + host + at.path(depth);
    if (kind == 4 && !at.query.empty()) return "Q " + host + at.path(depth) + "?" + at.query;
    return "D " + host + at.path(1 + below(depth)) + "/";
  }

 private:
  std::mt19937_64 engine_;
};

// Every question a URL stands for, as the rules name them.
std::vector<std::string> questions_of(const RandomUrl& url) {
  std::vector<std::string> out;
  const std::size_t suffixes = url.is_address ? 1 : url.labels.size();
  for (std::size_t i = 0; i < suffixes; ++i) {
    const std::string host = url.host(i);
    out.push_back("S " + host);
    out.push_back((i == 0 ? "X " : "W ") + host);
    out.push_back("U " + host + url.path(url.segments.size()));
    if (!url.query.empty()) out.push_back("Q " + host + url.path(url.segments.size()) + "?" + url.query);
    for (std::size_t d = 1; d <= url.segments.size(); ++d) out.push_back("D " + host + url.path(d) + "/");
  }
  return out;
}

using Entries = std::set<std::string>;

struct ModelFilter {
  Entries bits, added, removed;
  bool holds(const RandomUrl& url) const {
    const auto questions = questions_of(url);
    return std::any_of(questions.begin(), questions.end(), [&](const std::string& question) {
      return added.contains(question) || (bits.contains(question) && !removed.contains(question));
    });
  }
};

struct Model {
  std::vector<ModelFilter> filters;
  std::map<std::string, std::set<std::size_t>> allow;  // empty set: all

  // Both readings are asked, and a block by either stands; where none blocks, the first is told.
  std::string say(const RandomUrl& url) const {
    const std::string as_spelt = say_of(url);
    if (as_spelt.starts_with("blocked") || url.text().find(';') == std::string::npos) return as_spelt;
    const std::string without_parameters = say_of(url.bare(), &url);
    return without_parameters.starts_with("blocked") ? without_parameters : as_spelt;
  }
  // `spelt`: an allow entry for the URL as it is spelt frees its other reading, one for a directory does not.
  std::string say_of(const RandomUrl& url, const RandomUrl* spelt = nullptr) const {
    std::vector<std::string> allowing = questions_of(url);
    for (const std::string& question : spelt != nullptr ? questions_of(*spelt) : std::vector<std::string>{}) {
      if (question.front() == 'U' || question.front() == 'Q') allowing.push_back(question);
    }
    std::set<std::size_t> overruled;
    bool all = false;
    for (const std::string& question : allowing) {
      const auto found = allow.find(question);
      if (found == allow.end()) continue;
      all |= found->second.empty();
      overruled.insert(found->second.begin(), found->second.end());
    }
    if (all) return "allowed allow_list";
    for (std::size_t i = 0; i < filters.size(); ++i) {
      if (!overruled.contains(i) && filters[i].holds(url)) return "blocked f" + std::to_string(i);
    }
    return overruled.empty() ? "allowed unlisted" : "allowed allow_list";
  }
};

std::string entry_line(const std::string& entry) { return entry.substr(0, 2) + "http://" + entry.substr(2); }

TestFilter random_filter(Random& random, const std::string& name, ModelFilter& model) {
  TestFilter filter{.name = name, .entries = {}};
  for (int i = 0; i < 60; ++i) {
    filter.entries.push_back(random.entry());
    model.bits.insert(filter.entries.back());
  }
  for (int i = 0; i < 40; ++i) {
    const std::string entry = random.one_in(2) ? random.entry() : filter.entries[random.below(filter.entries.size())];
    const bool adds = random.one_in(2);
    if (entry.starts_with("W ") || entry.starts_with("S ") || entry.starts_with("X ")) {
      filter.changes += (adds ? "+" : "-") + entry + "\n";
    } else {
      filter.changes += (adds ? "+" : "-") + entry_line(entry) + "\n";
    }
    (adds ? model.removed : model.added).erase(entry);
    (adds ? model.added : model.removed).insert(entry);
  }
  return filter;
}

std::string random_allow_list(Random& random, std::size_t filters, Model& model) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    std::string entry = random.entry();
    if (entry.starts_with("W ")) continue;  // allow lists have no kinds: S, U, Q and D by shape
    if (entry.starts_with("X ") && !std::isdigit(static_cast<unsigned char>(entry[2]))) entry[0] = 'S';
    text += entry.substr(2);
    const bool is_known = model.allow.contains(entry);
    auto& scope = model.allow[entry];
    if (random.one_in(3)) {
      scope.clear();
      text += "\n";
      continue;
    }
    const std::size_t filter = random.below(filters);
    text += " @f" + std::to_string(filter) + "\n";
    if (!is_known || !scope.empty()) scope.insert(filter);
  }
  return text;
}

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
