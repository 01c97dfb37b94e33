// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/key.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace bloomwall::filter {
namespace {

constexpr SeriesKey kKey{1, 2, 3, 4, 5, 6, 7, 8, 9};
constexpr std::uint64_t kSeed = 0x0807060504030201;

// The definition, byte by byte: XXH3-128 of the pieces joined.
Hash128 direct(const std::string& bytes) {
  const XXH128_hash_t h = XXH3_128bits_withSeed(bytes.data(), bytes.size(), kSeed);
  return {.lo = h.low64, .hi = h.high64};
}
std::string text(const Hash128& h) {
  std::string out(16, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    out[i] = static_cast<char>(h.lo >> (8 * i));
    out[8 + i] = static_cast<char>(h.hi >> (8 * i));
  }
  return out;
}

TEST(KeyMakerTest, TheSeedIsTheFirstEightBytesLittleEndian) {
  EXPECT_EQ(KeyMaker(kKey).seed(), kSeed);
  SeriesKey other = kKey;
  other[8] = 77;
  EXPECT_EQ(KeyMaker(other).hash("x"), KeyMaker(kKey).hash("x")) << "bytes 8..31 are reserved";
  other[7] = 77;
  EXPECT_NE(KeyMaker(other).hash("x"), KeyMaker(kKey).hash("x"));
}

TEST(KeyMakerTest, KeysAreTheHashesOfTheirParts) {
  const KeyMaker keys(kKey);
  const Hash128 host = keys.host("example.com");
  const Hash128 p1 = keys.segment("a", keys.empty_path());
  const Hash128 p2 = keys.segment("b", p1);
  const Hash128 query = keys.hash("q=1");
  EXPECT_EQ(host, direct("example.com"));
  EXPECT_EQ(keys.empty_path(), direct(""));
  EXPECT_EQ(p1, direct("a" + text(direct(""))));
  EXPECT_EQ(p2, direct("b" + text(p1)));
  EXPECT_EQ(keys.url(host, p2), direct("U" + text(host) + text(p2)));
  EXPECT_EQ(keys.directory(host, p1), direct("D" + text(host) + text(p1)));
  EXPECT_EQ(keys.url_query(host, p2, query), direct("Q" + text(host) + text(p2) + text(query)));
  EXPECT_EQ(keys.raw("abc"), direct("Rabc"));
  EXPECT_EQ(keys.raw(""), direct("R"));
}

TEST(KeyMakerTest, LongTextsAreHashedInPiecesToTheSameDigest) {
  const KeyMaker keys(kKey);
  const Hash128 parent = keys.empty_path();
  for (std::size_t length = 0; length < 1200; length += 1 + length / 37) {
    const std::string segment(length, 's');
    ASSERT_EQ(keys.segment(segment, parent), direct(segment + text(parent))) << length;
    ASSERT_EQ(keys.raw(segment), direct("R" + segment)) << length;
  }
}

// Short texts are hashed from words: at each length, whatever stands in them.
TEST(KeyMakerTest, ShortTextsAndKeysAreHashedAsTheLibraryHashesThem) {
  std::mt19937_64 random(kSeed);
  const auto hash = [&random] { return Hash128{.lo = random(), .hi = random()}; };
  for (int round = 0; round < 200; ++round) {
    SeriesKey key{};
    for (std::uint8_t& octet : key) octet = static_cast<std::uint8_t>(round == 0 ? 0 : round == 1 ? 255 : random());
    const KeyMaker keys(key);
    const auto library = [&keys](const std::string& bytes) {
      const XXH128_hash_t h = XXH3_128bits_withSeed(bytes.data(), bytes.size(), keys.seed());
      return Hash128{.lo = h.low64, .hi = h.high64};
    };
    const Hash128 a = hash(), b = hash(), c = hash();
    for (std::size_t length = 0; length <= 80; ++length) {
      std::string segment(length, '\0');
      for (char& octet : segment) octet = static_cast<char>(random());
      const auto exact = std::make_unique<char[]>(length);  // a sanitizer sees a read beyond it
      std::copy(segment.begin(), segment.end(), exact.get());
      ASSERT_EQ(keys.segment({exact.get(), length}, a), library(segment + text(a))) << length;
      ASSERT_EQ(keys.hash({exact.get(), length}), library(segment)) << length;
    }
    ASSERT_EQ(keys.url(a, b), library("U" + text(a) + text(b)));
    ASSERT_EQ(keys.directory(a, b), library("D" + text(a) + text(b)));
    ASSERT_EQ(keys.url_query(a, b, c), library("Q" + text(a) + text(b) + text(c)));
  }
}

TEST(KeyMakerTest, KindsNeverCollide) {
  const KeyMaker keys(kKey);
  const Hash128 host = keys.host("h");
  const Hash128 path = keys.segment("p", keys.empty_path());
  const Hash128 nothing = keys.hash("");
  const std::set<Hash128> distinct{keys.url(host, path),
                                   keys.directory(host, path),
                                   keys.url_query(host, path, nothing),
                                   keys.url(path, host),
                                   keys.raw(text(host) + text(path)),
                                   keys.hash(text(host) + text(path)),
                                   host,
                                   path};
  EXPECT_EQ(distinct.size(), 8U);
}

TEST(VariantTest, EveryQuestionAboutAHostHasItsOwn) {
  EXPECT_EQ(host_variant(Kind::suffix), 0U);
  EXPECT_EQ(host_variant(Kind::exact_host), 1U);
  EXPECT_EQ(host_variant(Kind::subdomains), 2U);
  EXPECT_EQ(directory_mark(1), 5U);
  EXPECT_EQ(directory_mark(15), 19U);
  EXPECT_EQ(directory_mark(16), 20U);
  EXPECT_EQ(directory_mark(65535), 20U);
  EXPECT_LT(directory_mark(kDeepestMark), kHostVariantCount);
  EXPECT_LE(kHostVariantCount, 32U) << "a mask of variants is 32 bits";
}

}  // namespace
}  // namespace bloomwall::filter
