// SPDX-License-Identifier: Apache-2.0
#include "filter/url/forms.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filter/url/canonical_url.h"

namespace bloomwall::filter {
namespace {

using testing::ElementsAre;

std::string resolved(std::string_view path, Order order) {
  std::string text = "before/";
  PathWriter writer(order, text);
  for_each_segment(path, [&](std::string_view segment, bool last) {
    if (writer.step(kind_of(segment), last)) text.append(segment);
  });
  writer.finish();
  EXPECT_TRUE(text.starts_with("before/"));
  return text.substr(7);
}

TEST(PathTest, SegmentsEndAtEitherSlash) {
  std::vector<std::string> seen;
  for_each_segment("a/b\\/c",
                   [&](std::string_view s, bool last) { seen.push_back(std::string(s) + (last ? "." : "")); });
  EXPECT_THAT(seen, ElementsAre("a", "b", "", "c."));
}

TEST(PathTest, KindsOfSegments) {
  EXPECT_EQ(kind_of(""), SegmentKind::empty);
  EXPECT_EQ(kind_of("."), SegmentKind::dot);
  EXPECT_EQ(kind_of(".."), SegmentKind::dot_dot);
  EXPECT_EQ(kind_of("..."), SegmentKind::name);
  EXPECT_EQ(kind_of("%2e"), SegmentKind::name);
}

TEST(PathTest, BothOrdersAgreeWhereNoSlashesMeetDots) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "/"},      {"a", "/a"},          {"a/", "/a/"},    {"a/.", "/a/"}, {"a/..", "/"},
      {"../a", "/a"}, {"a/b/../c", "/a/c"}, {"a//b", "/a/b"}, {"//", "/"},    {"a//", "/a/"},
      {".", "/"},     {"a/./b", "/a/b"},    {"a/b/..", "/a/"}};
  for (const auto& [path, want] : cases) {
    EXPECT_EQ(resolved(path, Order::collapse_first), want) << path;
    EXPECT_EQ(resolved(path, Order::resolve_first), want) << path;
  }
}

TEST(PathTest, OrdersDifferWhereSlashesMeetDots) {
  const std::vector<std::array<std::string, 3>> cases{{"a//../b", "/b", "/a/b"}, {"a//..", "/", "/a/"},
                                                      {"a///../..", "/", "/a/"}, {"/../a", "/a", "/a"},
                                                      {"a//.", "/a/", "/a/"},    {"//..", "/", "/"}};
  for (const auto& [path, merged, unmerged] : cases) {
    EXPECT_EQ(resolved(path, Order::collapse_first), merged) << path;
    EXPECT_EQ(resolved(path, Order::resolve_first), unmerged) << path;
  }
}

TEST(PathTest, AppendsTheCanonicalPath) {
  std::string text = "x";
  append_path("a b/%/../c#d\\e", text);
  EXPECT_EQ(text, "x/a%20b/c%23d/e");
}

std::vector<std::string> forms(std::string_view rest) {
  FormReader reader;
  std::array<UrlForm, kMaxAsked> found;
  std::vector<std::string> out;
  for (int call = 0; call < 2; ++call) {  // the second call must not see the first
    out.clear();
    const std::size_t count = reader.read(rest, found);
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(std::string(found[i].path) + (found[i].has_query_mark ? "?" : "") + std::string(found[i].query));
    }
  }
  return out;
}

TEST(FormsTest, AnUnambiguousPathHasOneForm) {
  EXPECT_THAT(forms(""), ElementsAre("/"));
  EXPECT_THAT(forms("a%20b//c?d%2Fe"), ElementsAre("/a%20b/c?d/e"));
  EXPECT_THAT(forms("a/../b"), ElementsAre("/b"));
}

TEST(FormsTest, OrderIsPrimaryA1A2A3A4) {
  // Each reading differs: a//, a dot segment that is a name after one decoding, and a slash that is data.
  EXPECT_THAT(forms("a//%252e%252e/b//..%2fc"),
              ElementsAre("/c", "/b/..%2Fc", "/a/b/..%2Fc", "/a/../b/..%2Fc", "/a/../c", "/a/../b/c"));
}

TEST(FormsTest, NeverMoreThanEight) {
  for (const char* const rest :
       {"a%252f//..%2f..%255c%252e%252e//b%3f%253f/..//c", "%%32e%%32e//..%2f//..%5c..%252f%3f"}) {
    EXPECT_LE(forms(rest).size(), kMaxForms);
    EXPECT_GE(forms(rest).size(), 4U);
  }
}

TEST(FormsTest, AFormMayHoldADotSegmentThatIsAName) {
  EXPECT_THAT(forms("a/%252e%252e/b?c"), ElementsAre("/b?c", "/a/../b?c"));
}

TEST(SplitUrlTest, CutsBeforeAnythingIsDecoded) {
  std::string cleaned;
  const SplitUrl split = split_url(" hTTps://user%40x@EX%2Fample.test:0443/a%3f?b#c ", cleaned);
  EXPECT_TRUE(split.usable);
  EXPECT_EQ(split.scheme, "https");
  EXPECT_EQ(split.host, "EX%2Fample.test");
  EXPECT_EQ(split.port, 443);
  EXPECT_EQ(split.rest, "a%3f?b");
  EXPECT_EQ(split.reason, UrlReason::userinfo);
}

TEST(SplitUrlTest, CopiesOnlyWhereOctetsGo) {
  std::string cleaned;
  EXPECT_EQ(split_url("http://example.test/a", cleaned).rest, "a");
  EXPECT_TRUE(cleaned.empty());
  const SplitUrl split = split_url("ht\ntp://exam\tple.test/\ra", cleaned);
  EXPECT_EQ(split.host, "example.test");
  EXPECT_EQ(split.rest, "a");
  EXPECT_EQ(split.reason, UrlReason::control_octet);
  EXPECT_EQ(cleaned, "http://example.test/a");
}

TEST(SplitUrlTest, BracketsKeepTheirColons) {
  std::string cleaned;
  const SplitUrl split = split_url("http://[::1]:8080?q", cleaned);
  EXPECT_EQ(split.host, "[::1]");
  EXPECT_EQ(split.port, 8080);
  EXPECT_EQ(split.rest, "?q");
}

}  // namespace
}  // namespace bloomwall::filter
