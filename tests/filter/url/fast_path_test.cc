// SPDX-License-Identifier: Apache-2.0
#include "filter/url/fast_path.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/url/canonical_url.h"
#include "tests/filter/url/access.h"
#include "tests/filter/url/url_generator.h"

namespace bloomwall::filter {
namespace {

using fast_path_detail::cut_avx2;
using fast_path_detail::cut_scalar;
using fast_path_detail::has_avx2;

// Both implementations on a buffer of the exact size, so that a sanitizer sees a read beyond the end.
UrlCut cut(std::string_view url) {
  const std::vector<char> exact(url.begin(), url.end());
  const std::string_view text(exact.data(), exact.size());
  const UrlCut scalar = cut_scalar(text);
  if (has_avx2()) {
    EXPECT_EQ(cut_avx2(text), scalar) << url;
  }
  EXPECT_EQ(cut_if_canonical(text), scalar) << url;
  return scalar;
}

bool is_fast(std::string_view url) { return cut(url).host_begin != 0; }

TEST(FastPathTest, SaysWhichImplementationsRan) {
  if (!has_avx2()) GTEST_SKIP() << "this processor has no AVX2: only the scalar check is tested here";
}

TEST(FastPathTest, CutsAUrl) {
  EXPECT_EQ(cut("http://a.test/b?c"), (UrlCut{.host_begin = 7, .host_end = 13, .query = 15}));
  EXPECT_EQ(cut("https://a.test/"), (UrlCut{.host_begin = 8, .host_end = 14, .query = std::string_view::npos}));
  EXPECT_EQ(cut("http://a"), (UrlCut{.host_begin = 7, .host_end = 8, .query = std::string_view::npos}));
  EXPECT_EQ(cut("http://a/?").query, 9U);
}

TEST(FastPathTest, RefusesEachBrokenCondition) {
  for (const char* const url : {"",
                                "http://",
                                "https://",
                                "HTTP://a.test/",
                                "ftp://a.test/",
                                "a.test/",
                                " http://a.test/",
                                "http:/a.test/",
                                "http://A.test/",
                                "http://a.test:80/",
                                "http://a@b.test/",
                                "http://a%62.test/",
                                "http://.a.test/",
                                "http://a.test./",
                                "http://a..test/",
                                "http://a.1/",
                                "http://1.2.3.4/",
                                "http://a.0x1/",
                                "http://[::1]/",
                                "http://a.test?b",
                                "http://a.test#b",
                                "http:///",
                                "http://a.test/b#c",
                                "http://a.test/b%20",
                                "http://a.test/b\\c",
                                "http://a.test//",
                                "http://a.test/b//c",
                                "http://a.test/.b",
                                "http://a.test/b/../c",
                                "http://a.test/b c",
                                "http://a.test/\x7F",
                                "http://a.test/\xC3\xA9",
                                "http://a.test/b?c d",
                                "http://a.test/b?%41",
                                "http://a.test/b?#",
                                "http://a.test/b?\\",
                                "http://a.test/b;c",
                                "http://a.test/;?c",
                                "http://a.test/b?\t"}) {
    EXPECT_FALSE(is_fast(url)) << url;
  }
}

TEST(FastPathTest, TakesEachAllowedOctet) {
  for (unsigned octet = 0; octet < 256; ++octet) {
    const char c = static_cast<char>(octet);
    const bool visible = octet > 0x20 && octet < 0x7F && c != '%' && c != '#' && c != '\\';
    const bool host = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    EXPECT_EQ(is_fast(std::string("http://a") + c + "b.test/"), host || c == '.' || c == '/') << octet;
    EXPECT_EQ(is_fast(std::string("http://a.test/x") + c), visible && c != ';') << octet;
    EXPECT_EQ(is_fast(std::string("http://a.test/x?y") + c + "z"), visible) << octet;
  }
}

TEST(FastPathTest, NeighboursMatterInThePathOnly) {
  EXPECT_TRUE(is_fast("http://a.test/b?c//d/../e/.f?g;h"));
  EXPECT_TRUE(is_fast("http://a.test/b.c/d..e/f."));
  EXPECT_FALSE(is_fast("http://a.test/b?/../c#"));
}

TEST(FastPathTest, HostOfSixtyThreeIsTheLongest) {
  EXPECT_TRUE(is_fast("http://" + std::string(63, 'a')));
  EXPECT_TRUE(is_fast("http://" + std::string(63, 'a') + "/b"));
  EXPECT_FALSE(is_fast("http://" + std::string(64, 'a')));
  EXPECT_FALSE(is_fast("http://" + std::string(64, 'a') + "/b"));
}

// A fault, a pair or a '?' at each place of URLs of each length: every border of the 32 and 64 octet blocks.
TEST(FastPathTest, EveryPlaceIsLookedAt) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    for (std::size_t size = 1; size <= 200; ++size) {
      const std::string base = std::string(scheme) + "a.test/" + std::string(size, 'b');
      ASSERT_TRUE(is_fast(base));
      for (std::size_t at = base.size() - size; at < base.size(); ++at) {
        std::string changed = base;
        changed[at] = '%';
        ASSERT_FALSE(is_fast(changed)) << changed;
        changed[at] = ';';
        ASSERT_FALSE(is_fast(changed)) << changed;
        changed[at] = '?';
        ASSERT_EQ(cut(changed).query, at) << changed;
        changed[at] = '/';
        ASSERT_EQ(is_fast(changed), base[at - 1] != '/') << changed;
        if (at + 1 == base.size()) continue;
        changed[at + 1] = '.';
        ASSERT_FALSE(is_fast(changed)) << changed;
      }
    }
  }
}

TEST(FastPathTest, HostsOfEachLengthAreCutWhereTheyEnd) {
  for (std::size_t size = 1; size <= 70; ++size) {
    const std::string base = "http://" + std::string(size, 'a');
    for (const char* const tail :
         {"", "/", "/b", "/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb?c"}) {
      const UrlCut found = cut(base + tail);
      ASSERT_EQ(found.host_end, size <= kMaxFastHost ? base.size() : 0) << base << tail;
    }
  }
}

TEST(FastPathTest, HostRules) {
  for (const char* const host : {"a", "a.b", "1a.b-c", "_x.test", "-", "xn--a"})
    EXPECT_TRUE(is_canonical_name(host)) << host;
  for (const char* const host : {"", ".", "a.", ".a", "a..b", "A", "a.1b", "1", "a/b", "a b", "a:1", "[::1]"}) {
    EXPECT_FALSE(is_canonical_name(host)) << host;
  }
}

std::string answer(const CanonicalUrl& url) {
  std::string out = url.action == UrlAction::lookup ? "lookup" : "reject";
  for (std::size_t i = 0; i < url.asked().size(); ++i) out += " " + url.text(i);
  return out;
}

// What is recognised means the same on the slow path, and both checks recognise the same.
TEST(FastPathTest, AgreesWithTheLongWayOnRandomUrls) {
  constexpr std::uint64_t kSeed = 11;
  UrlGenerator generator(kSeed);
  Canonicaliser canonicaliser;
  Canonicaliser slow;
  constexpr std::string_view kAlphabet = "abc/.?-_019=&;~";
  int recognised = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string url = "http://a.b";
    if (i % 2 == 0) {
      url = generator.url();
    } else {
      for (std::uint64_t n = generator.below(120); n > 0; --n) url += kAlphabet[generator.below(kAlphabet.size())];
    }
    if (!is_fast(url)) continue;
    ++recognised;
    ASSERT_EQ(answer(canonicaliser.url(url)), answer(CanonicaliserAccess::url_the_long_way(slow, url)))
        << url << " seed " << kSeed;
    const std::string host(canonicaliser.url(url).host);
    ASSERT_EQ(answer(canonicaliser.host(host)), answer(CanonicaliserAccess::host_the_long_way(slow, host))) << host;
  }
  EXPECT_GT(recognised, 1000);
}

}  // namespace
}  // namespace bloomwall::filter
