// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/exact_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter/policy/lookup.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A canonical request: "host/path?query", cut by hand.
struct Request {
  std::string host, path, query;
  explicit Request(std::string_view text) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    host = text.substr(0, slash);
    path = slash == text.size() ? "/" : text.substr(slash);
    const std::size_t mark = path.find('?');
    if (mark == std::string::npos) return;
    query = path.substr(mark + 1);
    path.resize(mark);
  }
  CanonicalUrl url() const {
    CanonicalUrl out;
    out.action = UrlAction::lookup;
    out.host = host;
    out.host_kind = OwnEntry(Kind::suffix, host, "", "").host_kind();
    return out;
  }
};

class ExactSetTest : public testing::Test {
 protected:
  void add(std::string_view entry, std::uint32_t value = 1) { set_.at(OwnEntry(entry).view()) = value; }
  // What matches, as "D example.com/a/".
  std::vector<std::string> matches(std::string_view text, Scope scope = Scope::url) {
    const Request request(text);
    const CanonicalUrl url = request.url();
    UrlParts parts(url);
    parts.use_form({.path = request.path, .query = request.query});
    UrlHashes hashes(set_.keys(), parts);
    ExactMatches found;
    set_.find_matches(hashes, scope, found);
    std::vector<std::string> out;
    for (const ExactMatch& match : found)
      out.push_back(text_of(Question{match.kind, false, match.suffix, match.depth}, parts));
    return out;
  }
  ExactSet set_{KeyMaker(SeriesKey{})};
};

// One row: an entry, and requests that it matches (+) and does not match (-).
struct ShapeRow {
  std::string_view name, entry;
  std::vector<std::string_view> yes, no;
};

const std::string kDeep20 = "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20";

class ExactShapes : public ExactSetTest, public testing::WithParamInterface<ShapeRow> {};

TEST_P(ExactShapes, MatchExactlyWhatTheKindSays) {
  const ShapeRow& row = GetParam();
  add(row.entry);
  for (const std::string_view url : row.yes) EXPECT_THAT(matches(url), testing::SizeIs(1)) << url;
  for (const std::string_view url : row.no) EXPECT_THAT(matches(url), IsEmpty()) << url;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ExactShapes,
    testing::Values(
        ShapeRow{"SuffixIsHostAndSubdomainsEveryPath",
                 "S example.com",
                 {"example.com", "example.com/a?b", "a.b.example.com/x/"},
                 {"example.org", "com", "badexample.com"}},
        ShapeRow{
            "ExactHostIsNotItsSubdomains", "X example.com", {"example.com", "example.com/a"}, {"a.example.com", "com"}},
        ShapeRow{
            "SubdomainsIsNotTheHostItself", "W example.com", {"a.example.com", "a.b.example.com/x"}, {"example.com"}},
        ShapeRow{"UrlIsThatPathWithAnyQuery",
                 "U example.com/a/b",
                 {"example.com/a/b", "example.com/a/b?q", "example.com/a/b/", "x.example.com/a/b"},
                 {"example.com/a", "example.com/a/bc", "example.com/a/b/c", "example.org/a/b", "example.com/"}},
        ShapeRow{"UrlQueryIsThatPathAndThatQuery",
                 "Q example.com/a?x=1",
                 {"example.com/a?x=1", "example.com/a/?x=1", "s.example.com/a?x=1"},
                 {"example.com/a", "example.com/a?x=2", "example.com/a?x=1&y", "example.com/b?x=1", "example.com/a?"}},
        ShapeRow{"QueryOfTheRoot", "Q example.com/?x", {"example.com/?x"}, {"example.com/", "example.com/a?x"}},
        ShapeRow{"DirectoryIsEverythingUnderIt",
                 "D example.com/a/b/",
                 {"example.com/a/b/", "example.com/a/b", "example.com/a/b/c?q", "example.com/a/b/c/d/",
                  "x.y.example.com/a/b/c"},
                 {"example.com/a", "example.com/a/", "example.com/a/bc", "example.com/b/a/b/"}},
        ShapeRow{"DirectoryDeeperThan15",
                 "D example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/",
                 {"example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18",
                  "example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"},
                 {"example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16",
                  "example.com/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/18/x"}},
        ShapeRow{
            "AddressIsExact", "X 192.0.2.1", {"192.0.2.1", "192.0.2.1/a"}, {"2.1", "0.2.1", "1.192.0.2.1.example"}},
        ShapeRow{"Ipv6", "X [2001:db8::1]", {"[2001:db8::1]/x"}, {"[2001:db8::2]/x"}},
        ShapeRow{"UrlOnAnAddress", "U 192.0.2.1/i", {"192.0.2.1/i"}, {"192.0.2.1/", "192.0.2.2/i"}},
        ShapeRow{"LastLabelAlone", "S zip", {"zip", "a.zip/x", "a.b.zip"}, {"zip.com", "azip"}},
        ShapeRow{"ManyLabels",
                 "S a.b.c.d.e.f.g.h.i.example.com",
                 {"a.b.c.d.e.f.g.h.i.example.com", "x.a.b.c.d.e.f.g.h.i.example.com"},
                 {"b.c.d.e.f.g.h.i.example.com"}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(ExactSetTest, AllMatchesComeBySuffixThenKindThenDepth) {
  for (const char* entry : {"D com/a/", "S com", "D a.com/a/b/", "Q a.com/a/b?q", "U a.com/a/b", "D a.com/a/",
                            "X a.com", "W com", "S a.com"}) {
    add(entry);
  }
  EXPECT_THAT(matches("a.com/a/b?q"), ElementsAre("S a.com", "X a.com", "U a.com/a/b", "Q a.com/a/b?q", "D a.com/a/",
                                                  "D a.com/a/b/", "S com", "W com", "D com/a/"));
}

TEST_F(ExactSetTest, AHostAloneIsAskedForHostKindsOnly) {
  add("D a.com/a/");
  add("U a.com/a");
  add("S com");
  EXPECT_THAT(matches("a.com/a", Scope::host), ElementsAre("S com"));
}

TEST_F(ExactSetTest, DirectoriesFarDeeperThanTheirMaskAreFoundAtTheirOwnDepthOnly) {
  std::string path;
  for (int d = 1; d <= 200; ++d) {
    path += "/" + std::to_string(d);
    if (d == 63 || d == 64 || d == 65 || d == 150) add("D example.com" + path + "/");
  }
  EXPECT_EQ(matches("example.com" + path).size(), 4U);
  EXPECT_EQ(matches("example.com" + path.substr(0, path.find("/65"))).size(), 2U);
  EXPECT_EQ(matches("example.com" + path.substr(0, path.find("/63"))).size(), 0U);
  EXPECT_EQ(matches("other.com" + path).size(), 0U);
}

TEST_F(ExactSetTest, ValuesAreReplacedAndCountedOnce) {
  add("U example.com/a", 1);
  add("U example.com/a", 2);
  add("S example.com", 1);
  add("S example.com", 7);
  EXPECT_EQ(set_.size(), 2U);
  EXPECT_EQ(set_.find(OwnEntry("U example.com/a").view()), 2U);
  EXPECT_EQ(set_.find(OwnEntry("S example.com").view()), 7U);
}

TEST_F(ExactSetTest, KindsOfOneTextDoNotCollide) {
  add("U example.com/a", 1);
  add("D example.com/a/", 2);
  add("R example.com/a", 3);
  EXPECT_EQ(set_.find(OwnEntry("U example.com/a").view()), 1U);
  EXPECT_EQ(set_.find(OwnEntry("D example.com/a/").view()), 2U);
  EXPECT_EQ(set_.find(OwnEntry("R example.com/a").view()), 3U);
  EXPECT_EQ(set_.find(OwnEntry("Q example.com/a?a").view()), 0U);
  EXPECT_EQ(set_.find(OwnEntry("X example.com").view()), 0U) << "a path entry lists no host";
  EXPECT_EQ(set_.find(OwnEntry("R example.com/").view()), 0U);
}

TEST_F(ExactSetTest, HoldsManyEntriesApart) {
  for (int i = 0; i < 20000; ++i) {
    add("S host" + std::to_string(i) + ".example", static_cast<std::uint32_t>(i + 1));
    add("U shared.example/p" + std::to_string(i), static_cast<std::uint32_t>(i + 1));
  }
  ASSERT_EQ(set_.size(), 40000U);
  for (int i = 0; i < 20000; ++i) {
    const auto value = static_cast<std::uint32_t>(i + 1);
    ASSERT_EQ(set_.find(OwnEntry("S host" + std::to_string(i) + ".example").view()), value);
    ASSERT_EQ(set_.find(OwnEntry("U shared.example/p" + std::to_string(i)).view()), value);
  }
  EXPECT_EQ(set_.find(OwnEntry("S host20000.example").view()), 0U);
}

TEST_F(ExactSetTest, TellsWhetherAHostHasUrlEntriesOnAnySuffix) {
  add("U example.com/a");
  add("S example.org");
  const auto has_paths = [&](std::string_view text) {
    const Request request(text);
    const CanonicalUrl url = request.url();
    UrlParts parts(url);
    UrlHashes hashes(set_.keys(), parts);
    return set_.path_mark(hashes).has_value();
  };
  EXPECT_TRUE(has_paths("example.com"));
  EXPECT_TRUE(has_paths("a.b.example.com"));
  EXPECT_FALSE(has_paths("example.org"));
  EXPECT_FALSE(has_paths("com"));
}

// Entries with values, asked of one set and of a set that stands on another: wherever the list is cut, both say the
// same.
TEST_F(ExactSetTest, ASetOnTopOfAnotherSaysWhatOneSetSays) {
  std::vector<std::pair<std::string, std::uint32_t>> entries = {
      {"S a.com", 1},       {"U a.com/a", 1},     {"D a.com/a/", 1}, {"Q a.com/a?q", 1}, {"R bytes", 1},
      {"X b.a.com", 1},     {"W com", 1},         {"S a.com", 2},    {"D com/a/b/", 1},  {"U a.com/a", 2},
      {"D a.com/a/b/", 2},  {"X 192.0.2.1", 1},   {"S zip", 1},      {"W com", 3},       {"D a.com" + kDeep20 + "/", 1},
      {"Q a.com/a?q", 3},   {"U b.a.com/a/b", 2}, {"R bytes", 2},    {"S b.zip", 2},     {"X 192.0.2.1", 2},
      {"D a.com/a/b/c/", 1}};
  std::string deep = "a.com";
  for (int d = 1; d <= 70; ++d) {
    deep += "/" + std::to_string(d);
    if (d > 60 && d % 2 == 0)
      entries.insert(entries.begin() + d % 7, {"D " + deep + "/", static_cast<std::uint32_t>(d)});
    if (d > 63 && d % 3 == 0) entries.emplace_back("D " + deep + "/", static_cast<std::uint32_t>(d + 100));
  }
  const std::vector<std::string> urls = {"a.com/a?q", "b.a.com/a/b/c", "x.com/a/b",      "192.0.2.1/x", "a.b.zip",
                                         deep,        "org",           "a.com" + kDeep20};
  for (const auto& [entry, value] : entries) add(entry, value);
  const auto values_of = [&](const ExactSet& set, std::string_view text) {
    const Request request(text);
    const CanonicalUrl url = request.url();
    UrlParts parts(url);
    parts.use_form({.path = request.path, .query = request.query});
    UrlHashes hashes(set.keys(), parts);
    ExactMatches found;
    set.find_matches(hashes, Scope::url, found);
    std::string out;
    for (const ExactMatch& match : found) {
      out += text_of(Question{match.kind, false, match.suffix, match.depth}, parts) + "=" +
             std::to_string(match.value) + " ";
    }
    return out;
  };
  for (std::size_t cut = 0; cut <= entries.size(); ++cut) {
    const auto base = std::make_shared<ExactSet>(set_.keys());
    for (std::size_t i = 0; i < cut; ++i) base->at(OwnEntry(entries[i].first).view()) = entries[i].second;
    const std::size_t base_size = base->size();
    ExactSet top{std::shared_ptr<const ExactSet>(base)};
    for (std::size_t i = cut; i < entries.size(); ++i) top.at(OwnEntry(entries[i].first).view()) = entries[i].second;
    EXPECT_EQ(top.size(), set_.size()) << cut;
    EXPECT_EQ(base->size(), base_size) << cut;
    for (const std::string& url : urls) EXPECT_EQ(values_of(top, url), values_of(set_, url)) << cut << " " << url;
    for (const auto& [entry, value] : entries) {
      EXPECT_EQ(top.find(OwnEntry(entry).view()), set_.find(OwnEntry(entry).view())) << cut << " " << entry;
    }
    for (const std::size_t labels : {0U, 1U, 2U, 3U, 4U}) {
      EXPECT_EQ(top.may_hold_labels(labels), set_.may_hold_labels(labels)) << cut << " " << labels;
    }
  }
}

TEST_F(ExactSetTest, AValueOfTheSetBelowIsWhereTheOneOnTopBegins) {
  const auto base = std::make_shared<ExactSet>(set_.keys());
  base->at(OwnEntry("S a.com").view()) = 5;
  ExactSet top{std::shared_ptr<const ExactSet>(base)};
  EXPECT_EQ(top.at(OwnEntry("S a.com").view()), 5U);
  EXPECT_EQ(top.size(), 1U);
  EXPECT_EQ(base->find(OwnEntry("S a.com").view()), 5U);
}

// 127 labels, every one of them with directory entries at two depths, against a path of 30,000 segments: time must stay
// that of reading the URL. The bound is a hundred times what it takes.
TEST_F(ExactSetTest, AHostileUrlCostsNoMoreThanItsLength) {
  std::string host = "a";
  for (int i = 1; i < 127; ++i) host += ".a";
  for (std::size_t at = 0; at < host.size(); at += 2) {
    add("D " + host.substr(at) + "/a/a/b/");
    add("D " + host.substr(at) + kDeep20 + "/");
  }
  std::string path;
  for (int i = 0; i < 30000; ++i) path += "/a";
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) EXPECT_THAT(matches(host + path), IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace bloomwall::filter
