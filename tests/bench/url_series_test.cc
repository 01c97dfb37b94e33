// SPDX-License-Identifier: Apache-2.0
#include "bench/ten_billion/url_series.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "filter/keys/keys.h"
#include "filter/lists/list_input.h"
#include "filter/url/canonical_url.h"
#include "filter/url/entry.h"

namespace bloomwall::bench {
namespace {

using filter::Kind;

constexpr std::uint64_t kSeriesEntries = 100'000;
constexpr std::uint64_t kSeed = 7;

std::string entry(const UrlSeries& series, std::uint64_t i) {
  std::string text;
  series.append_entry(i, text);
  return text;
}

filter::Entry only_entry(const filter::ParsedEntry& parsed, const std::string& text) {
  EXPECT_EQ(parsed.problem, filter::EntryProblem::none) << text;
  EXPECT_EQ(parsed.entries.size(), 1U) << text;
  return parsed.entries.empty() ? filter::Entry{} : parsed.entries[0];
}

TEST(UrlSeriesTest, EntriesAreDistinctCanonicalAndShort) {
  const UrlSeries series(kSeriesEntries, kSeed);
  ASSERT_EQ(series.entries(), kSeriesEntries);
  filter::EntryParser parser;
  std::unordered_set<std::string> seen;
  for (std::uint64_t i = 0; i < series.entries(); ++i) {
    const std::string text = entry(series, i);
    EXPECT_LE(text.size(), kMaxUrlBytes) << text;
    EXPECT_TRUE(seen.insert(text).second) << text;
    const filter::Entry parsed = only_entry(parser.url(text), text);
    EXPECT_EQ(parsed.kind, series.kind(i)) << text;
    const std::string canonical = filter::text_of(parsed);
    EXPECT_EQ("http://" + canonical + (parsed.kind == Kind::suffix ? "/" : ""), text);
  }
}

TEST(UrlSeriesTest, GroupsHoldTheEntriesInTheirOrder) {
  const UrlSeries series(3 * kGroupEntries, kSeed);
  for (const std::uint64_t group : {std::uint64_t{0}, std::uint64_t{2}}) {
    std::string text;
    series.append_group(group, text);
    LineWalk lines(text);
    std::uint64_t i = group * kGroupEntries;
    while (lines.next()) ASSERT_EQ(lines.line(), entry(series, i++));
    EXPECT_EQ(i, (group + 1) * kGroupEntries);
  }
}

TEST(UrlSeriesTest, KindsAndMarksAreMixedAsItSays) {
  const UrlSeries series(kSeriesEntries, kSeed);
  filter::EntryParser parser;
  const filter::KeyMaker keys(filter::SeriesKey{1});
  std::map<Kind, std::uint64_t> kinds;
  std::set<std::string> hosts;
  std::set<std::pair<std::string, filter::Variant>> marks;
  std::set<std::uint32_t> depths;
  for (std::uint64_t i = 0; i < series.entries(); ++i) {
    const std::string text = entry(series, i);
    const filter::Entry parsed = only_entry(parser.url(text), text);
    ++kinds[parsed.kind];
    if (parsed.kind == Kind::suffix) continue;
    const filter::EntryKeys made = keys_of(keys, parsed, keys.host(parsed.host));
    hosts.insert(std::string(parsed.host));
    marks.insert({std::string(parsed.host), made.host_variant});
    if (parsed.kind == Kind::directory) depths.insert(made.depth);
  }
  for (const auto& [kind, count] : kinds) EXPECT_EQ(count, series.count(kind));
  EXPECT_EQ(kinds[Kind::suffix], kSeriesEntries / 50);
  EXPECT_EQ(kinds[Kind::url], kSeriesEntries * 79 / 100);
  EXPECT_EQ(kinds[Kind::url_query], kSeriesEntries * 12 / 100);
  EXPECT_EQ(kinds[Kind::directory], kSeriesEntries * 7 / 100);
  EXPECT_EQ(hosts.size(), series.path_hosts());
  EXPECT_EQ(marks.size() * 100, hosts.size() * 102);
  EXPECT_EQ(depths, (std::set<std::uint32_t>{1, 2, 3, 4, 6}));
}

TEST(UrlSeriesTest, NothingOfTheListMatchesARequest) {
  const UrlSeries series(kSeriesEntries, kSeed);
  filter::EntryParser parser;
  std::unordered_set<std::string> listed, hosts;
  for (std::uint64_t i = 0; i < series.entries(); ++i) {
    const std::string text = entry(series, i);
    const filter::Entry parsed = only_entry(parser.url(text), text);
    listed.insert(filter::text_of(parsed));
    hosts.insert(std::string(parsed.host));
  }
  using Maker = void (UrlSeries::*)(std::uint64_t, std::string&) const;
  const std::pair<Maker, bool> makers[] = {{&UrlSeries::append_unlisted_host, false},
                                           {&UrlSeries::append_listed_host, true},
                                           {&UrlSeries::append_mixed_host, true}};
  for (const auto& [make, on_listed_host] : makers) {
    std::unordered_set<std::string> seen;
    for (std::uint64_t r = 0; r < 20'000; ++r) {
      std::string text;
      (series.*make)(r, text);
      seen.insert(text);
      filter::Canonicaliser canonicaliser;
      const filter::CanonicalUrl& url = canonicaliser.url(text);
      ASSERT_EQ(url.action, filter::UrlAction::lookup) << text;
      ASSERT_EQ(url.forms.size(), 1U) << text;
      EXPECT_EQ(hosts.count(std::string(url.host)) != 0, on_listed_host) << text;
      const std::string expression = url.expression();
      for (std::size_t end = expression.find('/'); end != std::string::npos; end = expression.find('/', end + 1)) {
        EXPECT_EQ(listed.count(expression.substr(0, end + 1)), 0U) << text;  // directories, and the host as S
      }
      EXPECT_EQ(listed.count(expression.substr(0, expression.find('?'))), 0U) << text;
      EXPECT_EQ(listed.count(expression), 0U) << text;
    }
    EXPECT_GT(seen.size(), 19'900U);  // drawn, so a few may come twice
  }
}

TEST(UrlSeriesTest, AnotherSeedIsAnotherList) {
  const UrlSeries one(kGroupEntries, 1), two(kGroupEntries, 2);
  std::unordered_set<std::string> first;
  for (std::uint64_t i = 0; i < kGroupEntries; ++i) first.insert(entry(one, i));
  for (std::uint64_t i = 0; i < kGroupEntries; ++i) EXPECT_EQ(first.count(entry(two, i)), 0U);
}

TEST(UrlSeriesTest, TheLastEntriesOfTenBillionAreMadeLikeTheFirst) {
  const UrlSeries series(10'000'000'000, kSeed);
  EXPECT_EQ(series.entries(), 10'000'000'000U);
  EXPECT_EQ(series.path_hosts(), 200'000'000U);
  std::unordered_set<std::string> seen;
  for (std::uint64_t i = 0; i < kGroupEntries; ++i) {
    for (const std::uint64_t at : {i, series.entries() / 2 + i, series.entries() - 1 - i}) {
      const std::string text = entry(series, at);
      EXPECT_LE(text.size(), kMaxUrlBytes) << text;
      EXPECT_TRUE(seen.insert(text).second) << text;
    }
  }
}

}  // namespace
}  // namespace bloomwall::bench
