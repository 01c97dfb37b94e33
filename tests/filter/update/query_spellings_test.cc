// Filters that keep their queries by parameters: built in every way, changed, and asked beside others of one series.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "filter/builder/builder.h"
#include "filter/policy/policy.h"
#include "filter/policy/query.h"
#include "filter/update/counting.h"
#include "filter/update/update_delta.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

constexpr const char* kListed = "http://h.example/p.php?id=1&b=x+y&\n";
constexpr const char* kSpelt[] = {"http://h.example/p.php?id=1&b=x+y",      "http://www.h.example/p.php?id=1&b=x%20y",
                                  "http://h.example/p.php?id=1&b=x+y&",     "http://h.example/p.php?&id=1&&b=x+y",
                                  "http://h.example/p.php?id=1;b=x+y",      "http://h.example/p.php?%69d=1&b=x+y",
                                  "http://h.example/x/../p.php?+id=1&b=x+y"};
constexpr const char* kOthers[] = {"http://h.example/p.php", "http://h.example/p.php?b=x+y&id=1",
                                   "http://h.example/p.php?id=1", "http://h.example/p.php?id=1&b=x+y&c=1",
                                   "http://h.example/q.php?id=1&b=x+y"};

class QuerySpellings : public testing::Test {
 protected:
  BuildOptions options(const std::string& name, bool query_spellings = true) const {
    BuildOptions out;
    out.output = folder_ / name;
    out.lists = {folder_.write("list", kListed).string()};
    out.identity.series_key = SeriesKey{5};
    out.query_spellings = query_spellings;
    out.threads = 2;
    return out;
  }
  void build_it(const BuildOptions& options) {
    report_ = {};
    const auto built = build(options, report_);
    ASSERT_TRUE(built) << built.error().text();
  }
  std::string refusal(const BuildOptions& options) {
    report_ = {};
    const auto built = build(options, report_);
    return built ? "built" : built.error().text();
  }
  static bool is_listed(const FilterQuery& query, std::string_view url) {
    Canonicaliser canonicaliser;
    return query.url(canonicaliser.url(url)).has_value();
  }
  static void expect_spellings(const FilterQuery& query, bool is_there = true) {
    for (const char* url : kSpelt) EXPECT_EQ(is_listed(query, url), is_there) << url;
    for (const char* url : kOthers) EXPECT_FALSE(is_listed(query, url)) << url;
  }
  TempFolder folder_;
  BuildReport report_;
};

TEST_F(QuerySpellings, AreOneEntryInAFilterThatSaysSo) {
  build_it(options("f.bwf"));
  const auto file = open_filter(folder_ / "f.bwf");
  EXPECT_EQ(file->header().canonical_options, kQueriesByParameters);
  EXPECT_EQ(file->keys().queries(), QueryReading::by_parameters);
  expect_spellings(FilterQuery(*file));
}

TEST_F(QuerySpellings, AreManyInOtherFilters) {
  build_it(options("f.bwf", false));
  const auto file = open_filter(folder_ / "f.bwf");
  EXPECT_EQ(file->header().canonical_options, 0U);
  const FilterQuery query(*file);
  EXPECT_TRUE(is_listed(query, kSpelt[2]));
  for (const int i : {0, 1, 3, 4, 5, 6}) EXPECT_FALSE(is_listed(query, kSpelt[i])) << kSpelt[i];
}

TEST_F(QuerySpellings, AreOneInAStreamedBuild) {
  BuildOptions streamed = options("f.bwf");
  streamed.expected = PlanRequest{.entries = 1000};
  build_it(streamed);
  ASSERT_TRUE(report_.streamed);
  expect_spellings(FilterQuery(*open_filter(folder_ / "f.bwf")));
}

TEST_F(QuerySpellings, AreConfirmedByTheExactSide) {
  BuildOptions with_exact = options("f.bwf");
  with_exact.exact_side = true;
  build_it(with_exact);
  const auto file = open_filter(folder_ / "f.bwf");
  const auto exact = ExactSide::open(folder_ / "f.bwx", file->header().exact_root);
  ASSERT_TRUE(exact) << exact.error().text();
  expect_spellings(FilterQuery(*file, nullptr, exact->get()));
}

// Where the known URL is spelt as no entry is, its key must be the entry's: a listed URL is never made an exception.
TEST_F(QuerySpellings, OfKnownGoodUrlsThatAreListedFreeNothing) {
  BuildOptions known = options("f.bwf");
  known.known_good = {folder_.write("good", std::string(kSpelt[3]) + "\n").string()};
  build_it(known);
  expect_spellings(FilterQuery(*open_filter(folder_ / "f.bwf")));
}

TEST_F(QuerySpellings, ComeAndGoInACountingFilter) {
  BuildOptions counting = options("f.bwc");
  CountingReport report;
  const auto built = build_counting(counting, report);
  ASSERT_TRUE(built) << built.error().text();
  const auto emit = [&] {
    const auto header = emit_filter({.file = folder_ / "f.bwc", .output = folder_ / "f.bwf"});
    if (!header) throw std::runtime_error(header.error().text());
    return open_filter(folder_ / "f.bwf");
  };
  expect_spellings(FilterQuery(*emit()));
  CountingUpdate update;
  update.file = folder_ / "f.bwc";
  update.lists.add = {folder_.write("add", "http://h.example/new?a=\n").string()};
  update.lists.remove = {folder_.write("remove", std::string(kSpelt[4]) + "\n").string()};
  update.force = true;  // a removal of what was never added would take others away
  update.threads = 2;
  CountingUpdateReport updated;
  const auto done = update_counting(update, updated);
  ASSERT_TRUE(done) << done.error().text();
  const auto file = emit();
  const FilterQuery query(*file);
  expect_spellings(query, false);
  EXPECT_TRUE(is_listed(query, "http://h.example/new?&a"));
}

TEST_F(QuerySpellings, ComeAndGoInADelta) {
  build_it(options("f.bwf"));
  DeltaUpdate update{.filter = folder_ / "f.bwf", .delta = folder_ / "f.delta", .lists = {}};
  update.lists.add = {folder_.write("add", "http://h.example/new?a=1&\n").string()};
  update.lists.remove = {folder_.write("remove", std::string(kSpelt[4]) + "\n").string()};
  DeltaUpdateReport report;
  ASSERT_EQ(texts_of(update_delta(update, report)), "");
  const auto file = open_filter(folder_ / "f.bwf");
  const auto load = [&] {
    auto delta = Delta::load(folder_ / "f.delta", file->keys(), content_id(file->header()));
    if (!delta) throw std::runtime_error(texts_of(delta.error()));
    return *std::move(delta);
  };
  const Delta changed = load();
  const FilterQuery query(*file, &changed);
  expect_spellings(query, false);
  EXPECT_TRUE(is_listed(query, "http://h.example/new?a=1"));
  EXPECT_TRUE(is_listed(query, "http://h.example/new?&&a=1"));
  EXPECT_FALSE(is_listed(query, "http://h.example/new?a=2"));

  update.lists.add = {folder_.write("add", std::string(kSpelt[3]) + "\n").string()};
  update.lists.remove = {folder_.write("remove", "http://h.example/new?;a=1\n").string()};
  ASSERT_EQ(texts_of(update_delta(update, report)), "");
  const Delta back = load();
  expect_spellings(FilterQuery(*file, &back));
  EXPECT_FALSE(is_listed(FilterQuery(*file, &back), "http://h.example/new?a=1"));
  EXPECT_EQ(report.added + report.removed, 1U) << "lines of other spellings are replaced";
}

TEST_F(QuerySpellings, OfOneFilterAreNotThoseOfAnotherOfItsSeries) {
  build_it(options("loose.bwf"));
  build_it(options("strict.bwf", false));
  for (const bool is_loose_first : {true, false}) {
    PolicySpec spec;
    for (const char* name : {is_loose_first ? "loose" : "strict", is_loose_first ? "strict" : "loose"}) {
      spec.filters.push_back({.name = name, .file = folder_ / (std::string(name) + ".bwf"), .delta = {}});
    }
    // An allow entry is what it says, too, whatever the filter before whose keys it is compared by.
    spec.allow_lists = {folder_.write("allow", "http://h.example/p.php?id=1;b=x+y\n")};
    const auto policy = Policy::load(spec, {});
    ASSERT_TRUE(policy) << texts_of(policy.error());
    Canonicaliser canonicaliser;
    const auto filter_of = [&](const char* url) {
      const Verdict verdict = (*policy)->judge(canonicaliser.url(url));
      return verdict.filter == nullptr ? to_string(verdict.reason) : verdict.filter->name;
    };
    EXPECT_EQ(filter_of(kSpelt[0]), "loose");
    EXPECT_EQ(filter_of(kSpelt[2]), is_loose_first ? "loose" : "strict");
    EXPECT_EQ(filter_of(kSpelt[4]), "allow_list");
    EXPECT_EQ(filter_of(kOthers[1]), "unlisted");
  }
}

TEST_F(QuerySpellings, AreRefusedWhereTheyMeanNothing) {
  BuildOptions raw = options("f.bwf");
  raw.raw = true;
  EXPECT_THAT(refusal(raw), HasSubstr("--query-spellings is for URLs"));
  build_it(options("like.bwf", false));
  BuildOptions like = options("f.bwf");
  like.identity.series_key.reset();
  like.like = folder_ / "like.bwf";
  EXPECT_THAT(refusal(like), HasSubstr("built without --query-spellings"));
}

}  // namespace
}  // namespace bloomwall::filter
