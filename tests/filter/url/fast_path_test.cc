// SPDX-License-Identifier: Apache-2.0
#include "filter/url/fast_path.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
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
using fast_path_detail::is_canonical_avx2;
using fast_path_detail::is_canonical_scalar;

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

// Likewise of a path or a query alone.
bool is_canonical_part(UrlPart part, std::string_view whole) {
  const std::vector<char> exact(whole.begin(), whole.end());
  const std::string_view text(exact.data(), exact.size());
  const bool scalar = is_canonical_scalar(part, text);
  if (has_avx2()) {
    EXPECT_EQ(is_canonical_avx2(part, text), scalar) << whole;
  }
  EXPECT_EQ(is_canonical(part, text), scalar) << whole;
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
                                "http://a.test:",
                                "http://a.test:/",
                                "http://a.test:65536/",
                                "http://a.test:99999/",
                                "http://a.test:000080/",
                                "http://a.test:8o/",
                                "http://a.test:-1/",
                                "http://a.test:80:80/",
                                "http://a.test:80?b",
                                "http://a.test:80#b",
                                "http://a.test::80/",
                                "http://a.test.:80/",
                                "http://:80/",
                                "http://192.0.2.1:80/",
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
                                "http://a.test/b%",
                                "http://a.test/b%2",
                                "http://a.test/b%2?0",
                                "http://a.test/b%%20",
                                "http://a.test/b%c3%a9",
                                "http://a.test/b%2F",
                                "http://a.test/b%2E",
                                "http://a.test/b%3B",
                                "http://a.test/b%41",
                                "http://a.test/b%25",
                                "http://a.test/b%2520",
                                "http://a.test/b?%2",
                                "http://a.test/b?%3D",
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

TEST(FastPathTest, TakesAPort) {
  EXPECT_EQ(cut("http://a.test:8080/b?c"),
            (UrlCut{.host_begin = 7, .host_end = 13, .port_size = 5, .port = 8080, .query = 20}));
  EXPECT_EQ(cut("https://a.test:1").port, 1);
  EXPECT_EQ(cut("http://a.test:65535/").port, 65535);
  EXPECT_EQ(cut("http://a.test:00080/").port, 80);
  EXPECT_EQ(cut("http://a.test:0/").port_size, 2);
  for (std::size_t size = 1; size <= 70; ++size) {
    const std::string base = "http://" + std::string(size, 'a');
    for (const std::string port : {":8", ":80", ":800", ":8000", ":80000"}) {
      const bool fits = size + port.size() <= kMaxFastHost && port.size() < 6;
      for (const char* const tail :
           {"", "/", "/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb?c"}) {
        ASSERT_EQ(cut(base + port + tail).port_size, fits ? port.size() : 0) << base << port << tail;
      }
    }
  }
}

TEST(FastPathTest, TakesEscapesThatStay) {
  for (unsigned octet = 0; octet < 256; ++octet) {
    const bool ends_targets = octet <= 0x20 || octet == '#';  // of some servers, where it stands in a path
    for (const std::string_view digits : {"0123456789ABCDEF", "0123456789abcdef", "0123456789aBcDeF"}) {
      const std::string escape = std::string("%") + digits[octet >> 4] + digits[octet & 15];
      const bool upper = escape.find_first_of("abcdef") == std::string::npos;
      const bool is_blank = octet == 0x85 || octet == 0xA0;  // of Latin-1, where no longer character holds it
      EXPECT_EQ(is_fast("http://a.test/x" + escape), octet >= 0x7F && upper && !is_blank) << escape;
      EXPECT_EQ(is_fast("http://a.test/x%FF" + escape), octet >= 0x7F && upper) << escape;
      EXPECT_EQ(is_fast("http://a.test/" + escape + "/y?" + escape + "z"), octet >= 0x7F && upper && !is_blank)
          << escape;
      EXPECT_EQ(is_fast("http://a.test/y?" + escape + "z"), (octet >= 0x7F || ends_targets) && upper) << escape;
    }
  }
}

TEST(FastPathTest, AnEscapeIsLookedAtInEveryPlace) {
  for (std::size_t size = 3; size <= 200; ++size) {
    const std::string base = "http://a.test:80/" + std::string(size, 'b');
    for (std::size_t at = base.size() - size; at + 3 <= base.size(); ++at) {
      for (const char* const escape : {"%20", "%FF", "%2F", "%g0", "%0g"}) {
        const std::string changed = std::string(base).replace(at, 3, escape);
        ASSERT_EQ(is_fast(changed), escape == std::string_view("%FF")) << changed;
        const std::string queried = std::string(changed).replace(base.size() - size, 1, "?");
        if (at == base.size() - size || escape[1] == '0' || escape[1] == 'g') continue;
        ASSERT_EQ(is_fast("http://a.test/" + queried.substr(base.size() - size)), escape != std::string_view("%2F"))
            << queried;
      }
    }
  }
}

TEST(FastPathTest, PartsByThemselves) {
  EXPECT_TRUE(is_canonical_part(UrlPart::path, ""));
  EXPECT_TRUE(is_canonical_part(UrlPart::query, ""));
  EXPECT_TRUE(is_canonical_part(UrlPart::query, "a;b?c//d/../e%20"));
  for (std::size_t size = 0; size <= 200; ++size) {
    const std::string base = "/" + std::string(size, 'b');
    ASSERT_TRUE(is_canonical_part(UrlPart::path, base));
    ASSERT_TRUE(is_canonical_part(UrlPart::query, base));
    for (const char* const odd : {"?", ";", "//", "/.", "%", "%2", " ", "#", "\\", "\x80"}) {
      const std::string changed = base + odd + base;
      const std::string_view kind = odd;
      ASSERT_FALSE(is_canonical_part(UrlPart::path, changed)) << changed;
      ASSERT_EQ(is_canonical_part(UrlPart::query, changed), kind == "?" || kind == ";" || kind[0] == '/') << changed;
    }
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
  out += std::string(" ") + to_string(url.reason) + " " + std::to_string(url.port);
  out += " " + std::to_string(static_cast<int>(url.host_kind)) + " " + std::to_string(url.forms.size());
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

// Whatever is recognised, of a whole URL or of its path, the answer is that of reading all of it.
TEST(FastPathTest, EveryShortcutAgreesWithReadingInFull) {
  constexpr int kCases = 100'000;
  for (const std::uint64_t seed : {21U, 22U, 23U}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::printf("seed %llu, %d cases\n", static_cast<unsigned long long>(seed), kCases);
    UrlGenerator generator(seed);
    Canonicaliser canonicaliser;
    Canonicaliser full;
    int with_port = 0, with_escape = 0, long_ones = 0, paths_alone = 0;
    for (int i = 0; i < kCases; ++i) {
      const std::string url = i % 4 == 0 ? generator.url() : generator.nearly_canonical();
      const std::vector<char> exact(url.begin(), url.end());
      const CanonicalUrl& got = canonicaliser.url({exact.data(), exact.size()});
      const CanonicalUrl& wanted = CanonicaliserAccess::url_the_long_way(full, url);
      ASSERT_EQ(answer(got), answer(wanted)) << url;
      if (!got.has_canonical) continue;
      ASSERT_EQ(got.host, wanted.host) << url;
      for (std::size_t form = 0; form < got.asked().size(); ++form) {
        ASSERT_EQ(got.asked()[form].path, wanted.asked()[form].path) << url;
        ASSERT_EQ(got.asked()[form].query, wanted.asked()[form].query) << url;
        ASSERT_EQ(got.asked()[form].has_query_mark, wanted.asked()[form].has_query_mark) << url;
      }
      const UrlCut found = cut(url);
      const bool fast = found.host_begin != 0;
      const char* const path = got.asked()[0].path.data();
      with_port += fast && found.port_size != 0 ? 1 : 0;
      with_escape += fast && url.find('%') != std::string::npos ? 1 : 0;
      long_ones += fast && url.size() > 1000 ? 1 : 0;
      paths_alone += !fast && path >= exact.data() && path < exact.data() + exact.size() ? 1 : 0;
      const std::size_t end = std::min(url.find('/', 8), url.size());
      is_canonical_part(UrlPart::path, std::string_view(url).substr(end));
      is_canonical_part(UrlPart::query, std::string_view(url).substr(end));
    }
    EXPECT_GT(with_port, kCases / 50);
    EXPECT_GT(with_escape, kCases / 50);
    EXPECT_GT(long_ones, kCases / 500);
    EXPECT_GT(paths_alone, kCases / 50);
  }
}

}  // namespace
}  // namespace bloomwall::filter
