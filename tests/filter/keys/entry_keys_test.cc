// SPDX-License-Identifier: Apache-2.0
#include "filter/keys/keys.h"

#include <gtest/gtest.h>

#include <string>

namespace bloomwall::filter {
namespace {

KeyMaker test_keys() {
  SeriesKey key{};
  key[0] = 7;
  return KeyMaker(key);
}

Entry only(EntryParser& parser, std::string_view text) {
  const ParsedEntry parsed = parser.any(text);
  EXPECT_EQ(parsed.entries.size(), 1U) << text;
  return parsed.entries.front();
}

// Written out from the contract rather than through the code under test.
TEST(EntryKeys, FollowTheFileContract) {
  const KeyMaker k = test_keys();
  const Hash128 host = k.hash("example.com");
  const Hash128 a = k.segment("a", k.empty_path());
  const Hash128 ab = k.segment("b.html", a);
  EntryParser parser;

  EntryKeys got = keys_of(k, only(parser, "example.com"), host);
  EXPECT_EQ(got.kind, Kind::suffix);
  EXPECT_EQ(got.host, host);
  EXPECT_EQ(got.host_variant, kVariantSuffix);

  got = keys_of(k, only(parser, "http://example.com/a/b.html"), host);
  EXPECT_EQ(got.kind, Kind::url);
  EXPECT_EQ(got.host_variant, kVariantMarkUrl);
  EXPECT_EQ(got.key, k.url(host, ab));

  got = keys_of(k, only(parser, "http://example.com/a/b.html?x=1"), host);
  EXPECT_EQ(got.kind, Kind::url_query);
  EXPECT_EQ(got.host_variant, kVariantMarkQuery);
  EXPECT_EQ(got.key, k.url_query(host, ab, k.hash("x=1")));

  got = keys_of(k, only(parser, "http://example.com/a/"), host);
  EXPECT_EQ(got.kind, Kind::directory);
  EXPECT_EQ(got.depth, 1U);
  EXPECT_EQ(got.host_variant, directory_mark(1));
  EXPECT_EQ(got.key, k.directory(host, a));

  got = keys_of(k, only(parser, "http://example.com/?x=1"), host);
  EXPECT_EQ(got.kind, Kind::url_query);
  EXPECT_EQ(got.key, k.url_query(host, k.empty_path(), k.hash("x=1")));
}

TEST(EntryKeys, AddressesAreExactHosts) {
  const KeyMaker k = test_keys();
  EntryParser parser;
  for (const char* text : {"192.0.2.1", "[2001:db8::1]"}) {
    const Entry entry = only(parser, text);
    const EntryKeys got = keys_of(k, entry, k.host(entry.host));
    EXPECT_EQ(got.host_variant, kVariantExactHost);
    EXPECT_EQ(got.host, k.hash(text));
  }
}

TEST(EntryKeys, RawKeysHaveNoHost) {
  const KeyMaker k = test_keys();
  Entry entry;
  entry.kind = Kind::raw;
  entry.path = "me@example.com";
  EXPECT_EQ(keys_of(k, entry, {}).key, k.raw("me@example.com"));
}

TEST(EntryKeys, DeepDirectoriesShareOneMarkAndKeepTheirDepth) {
  const KeyMaker k = test_keys();
  EntryParser parser;
  std::string url = "http://example.com/";
  Hash128 path = k.empty_path();
  for (unsigned depth = 1; depth <= 40; ++depth) {
    url += "d/";
    path = k.segment("d", path);
    const EntryKeys got = keys_of(k, only(parser, url), k.hash("example.com"));
    EXPECT_EQ(got.depth, depth);
    EXPECT_EQ(got.host_variant, directory_mark(depth));
    EXPECT_EQ(got.key, k.directory(k.hash("example.com"), path));
  }
}

TEST(EntryKeys, HostOfAnEntryIsAUrlThatCanBeAsked) {
  Entry entry;
  entry.host = "example.com";
  const CanonicalUrl url = host_of(entry);
  EXPECT_TRUE(url.has_canonical);
  EXPECT_EQ(url.host, "example.com");
  EXPECT_EQ(url.host_kind, HostKind::name);
}

}  // namespace
}  // namespace bloomwall::filter
