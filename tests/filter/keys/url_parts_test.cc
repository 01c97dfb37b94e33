// SPDX-License-Identifier: Apache-2.0
#include "filter/keys/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

using testing::ElementsAre;

CanonicalUrl url_of(std::string_view host, HostKind kind = HostKind::name) {
  CanonicalUrl url;
  url.action = UrlAction::lookup;
  url.host = host;
  url.host_kind = kind;
  return url;
}

std::vector<std::string> suffixes_of(const UrlParts& parts) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < parts.suffixes(); ++i) {
    out.push_back(std::string(parts.suffix(i)) + " " + std::to_string(parts.labels(i)));
  }
  return out;
}

TEST(UrlParts, CutsAHostDownToItsLastLabel) {
  EXPECT_THAT(suffixes_of(UrlParts(url_of("a.b.example"))), ElementsAre("a.b.example 3", "b.example 2", "example 1"));
  EXPECT_THAT(suffixes_of(UrlParts(url_of("intranet"))), ElementsAre("intranet 1"));
}

TEST(UrlParts, AnAddressHasNoParentsAndNoLabels) {
  EXPECT_THAT(suffixes_of(UrlParts(url_of("192.0.2.1", HostKind::ipv4))), ElementsAre("192.0.2.1 0"));
  EXPECT_THAT(suffixes_of(UrlParts(url_of("[2001:db8::1]", HostKind::ipv6))), ElementsAre("[2001:db8::1] 0"));
  EXPECT_TRUE(UrlParts(url_of("192.0.2.1", HostKind::ipv4)).is_address());
}

TEST(UrlParts, TheLongestHostHas127Suffixes) {
  std::string host = "a";
  for (int i = 1; i < 127; ++i) host += ".a";
  ASSERT_EQ(host.size(), 253U);
  const UrlParts parts(url_of(host));
  ASSERT_EQ(parts.suffixes(), 127U);
  EXPECT_EQ(parts.suffix(126), "a");
  EXPECT_EQ(parts.labels(0), 127U);
}

TEST(UrlParts, NoHostHasNoSuffix) { EXPECT_EQ(UrlParts(url_of("")).suffixes(), 0U); }

TEST(UrlParts, SuffixesBeginBehindEachDotWhereverItStands) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  // Octets next to the dot's in value, and those that differ from it in the highest bit alone.
  constexpr std::string_view kOctets = "..a-/-0\xae\xaf\xad";
  for (int round = 0; round < 20'000; ++round) {
    std::string host(1 + random() % 40, 'x');
    for (char& octet : host) octet = random() % 3 == 0 ? kOctets[random() % kOctets.size()] : octet;
    std::vector<std::string> expected{host + " " + std::to_string(1 + std::ranges::count(host, '.'))};
    for (std::size_t dot = host.find('.'); dot != std::string::npos; dot = host.find('.', dot + 1)) {
      const std::string rest = host.substr(dot + 1);
      expected.push_back(rest + " " + std::to_string(1 + std::ranges::count(rest, '.')));
    }
    ASSERT_EQ(suffixes_of(UrlParts(url_of(host))), expected) << testing::PrintToString(host);
  }
}

TEST(UrlParts, AHostBeyondEveryLimitIsCutNoFurtherThanItsBound) {
  std::string host = "a";
  for (int i = 1; i < 5000; ++i) host += ".a";
  const UrlParts parts(url_of(host));
  EXPECT_LE(parts.suffixes(), kMaxSuffixes);
  EXPECT_EQ(parts.suffix(0), host);
}

TEST(UrlParts, CutsAPathIntoPrefixesWithoutALastSlash) {
  UrlParts parts(url_of("example.com"));
  for (const std::string_view path : {"/a/bc/d", "/a/bc/d/"}) {
    parts.use_form({.path = path, .query = "q=1", .has_query_mark = true});
    ASSERT_EQ(parts.depth(), 3U);
    EXPECT_EQ(parts.prefix(0), "");
    EXPECT_EQ(parts.prefix(1), "/a");
    EXPECT_EQ(parts.prefix(2), "/a/bc");
    EXPECT_EQ(parts.prefix(3), "/a/bc/d");
    EXPECT_EQ(parts.segment(1), "a");
    EXPECT_EQ(parts.segment(2), "bc");
    EXPECT_EQ(parts.segment(3), "d");
    EXPECT_EQ(parts.query(), "q=1");
  }
}

TEST(UrlParts, TheRootHasNoSegments) {
  UrlParts parts(url_of("example.com"));
  parts.use_form({.path = "/", .query = {}});
  EXPECT_EQ(parts.depth(), 0U);
  EXPECT_EQ(parts.prefix(0), "");
}

TEST(UrlParts, AnotherFormReplacesTheOneBefore) {
  UrlParts parts(url_of("example.com"));
  parts.use_form({.path = "/a/b/c", .query = "q"});
  ASSERT_EQ(parts.depth(), 3U);
  parts.use_form({.path = "/x", .query = {}});
  ASSERT_EQ(parts.depth(), 1U);
  EXPECT_EQ(parts.segment(1), "x");
}

TEST(UrlHashes, EqualWhatFormatSaysOfHostsPathsAndQueries) {
  SeriesKey series;
  series.fill(9);
  const KeyMaker keys(series);
  const CanonicalUrl url = url_of("a.example.com");
  UrlParts parts(url);
  parts.use_form({.path = "/x/y/", .query = "q"});
  UrlHashes hashes(keys, parts);
  const Hash128 p1 = keys.segment("x", keys.hash(""));
  EXPECT_EQ(hashes.host(2), keys.host("com"));
  EXPECT_EQ(hashes.host(0), keys.host("a.example.com"));
  EXPECT_EQ(hashes.host(1), keys.host("example.com"));
  EXPECT_EQ(hashes.path(2), keys.segment("y", p1));
  EXPECT_EQ(hashes.path(1), p1);
  EXPECT_EQ(hashes.path(0), keys.hash(""));
  EXPECT_EQ(hashes.query(QueryReading::as_spelt), keys.hash("q"));
}

TEST(UrlHashes, AnotherFormForgetsPathAndQueryButNotHosts) {
  const KeyMaker keys(SeriesKey{});
  const CanonicalUrl url = url_of("example.com");
  UrlParts parts(url);
  parts.use_form({.path = "/x", .query = "q"});
  UrlHashes hashes(keys, parts);
  const Hash128 x = hashes.path(1);
  const Hash128 q = hashes.query(QueryReading::as_spelt);
  parts.use_form({.path = "/y", .query = "r"});
  hashes.forget_form();
  EXPECT_NE(hashes.path(1), x);
  EXPECT_NE(hashes.query(QueryReading::as_spelt), q);
  EXPECT_EQ(hashes.path(1), keys.segment("y", keys.empty_path()));
  EXPECT_EQ(hashes.host(0), keys.host("example.com"));
}

TEST(UrlHashes, ManySuffixesAndSegmentsAreHashedBeyondTheInlineRoom) {
  std::string host = "a";
  for (int i = 1; i < 100; ++i) host += ".a";
  std::string path;
  for (int i = 0; i < 300; ++i) path += "/" + std::to_string(i);
  const KeyMaker keys(SeriesKey{});
  const CanonicalUrl url = url_of(host);
  UrlParts parts(url);
  parts.use_form({.path = path, .query = {}});
  UrlHashes hashes(keys, parts);
  Hash128 expected = keys.empty_path();
  for (int i = 0; i < 300; ++i) expected = keys.segment(std::to_string(i), expected);
  EXPECT_EQ(hashes.path(parts.depth()), expected);
  for (std::size_t i = 0; i < parts.suffixes(); ++i) EXPECT_EQ(hashes.host(i), keys.host(parts.suffix(i))) << i;
}

}  // namespace
}  // namespace bloomwall::filter
