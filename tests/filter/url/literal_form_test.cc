// The readings of servers to which '\' is an octet like any other: what they are, and that whatever nginx serves is
// asked.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "filter/url/canonical_url.h"
#include "filter/url/entry.h"
#include "filter/url/percent.h"
#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

struct LiteralFormRow {
  std::string_view name, url, literal;  // the expression, or "" for none
};
class LiteralForm : public testing::TestWithParam<LiteralFormRow> {};

std::vector<std::string> literal_forms(const CanonicalUrl& url) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < url.literal_forms; ++i) out.push_back(url.expression(url.forms.size() + i));
  return out;
}

TEST_P(LiteralForm, IsAskedAsWell) {
  Canonicaliser canonicaliser;
  const CanonicalUrl& url = canonicaliser.url(GetParam().url);
  EXPECT_LE(url.forms.size(), kMaxForms);
  EXPECT_LE(url.asked().size(), kMaxAsked);
  if (GetParam().literal.empty()) {
    EXPECT_THAT(literal_forms(url), testing::IsEmpty());
  } else {
    EXPECT_THAT(literal_forms(url), testing::Contains(GetParam().literal));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, LiteralForm,
    testing::Values(
        LiteralFormRow{"NoBackslash", "http://h.test/evil%2f../x", ""},
        LiteralFormRow{"OfADecodingMore", "http://h.test/evil%2f..%255cx", ""},
        LiteralFormRow{"NotEscapedItIsASlash", "http://h.test/a%2fb\\..\\c", ""},
        LiteralFormRow{"ANameThatBeginsWithDots", "http://h.test/evil%2f..%5cx", "h.test/evil/..%5Cx"},
        LiteralFormRow{"ANameThatTwoDotsTakeBack", "http://h.test/evil/%5c../..%2fm.exe", "h.test/evil/m.exe"},
        LiteralFormRow{"ANameThatEndsInABackslash", "http://h.test/evil%2fx%5c/../m.exe", ""},
        LiteralFormRow{"AnEscapedNameAndAnEscapedSlash", "http://h.test/%65vil%2f%5c../..%2fm.exe?q=1",
                       "h.test/evil/m.exe?q=1"},
        LiteralFormRow{"ResolvedBeforeItIsCollapsed", "http://h.test/evil/%5c..//..%2fm.exe",
                       "h.test/evil/%5C../m.exe"},
        LiteralFormRow{"DotsThatAreANameAfterOneDecoding", "http://h.test/evil%2f%5c..%2f%252e%252e%2fx",
                       "h.test/evil/%5C../../x"},
        LiteralFormRow{"AnEscapedQuestionMarkIsData", "http://h.test/evil%2f..%5cx%3fy", "h.test/evil/..%5Cx%3Fy"},
        LiteralFormRow{"EqualToAnotherFormIsNone", "http://h.test/evil/..%5cx", ""}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(LiteralFormOfEntries, AnEntryMeansWhatItSays) {
  EntryParser parser;
  for (const Entry& entry : parser.url("http://h.test/evil/%5c../..%2fm.exe").entries) {
    EXPECT_NE(text_of(entry), "h.test/evil/m.exe");
  }
}

TEST(LiteralFormOfEntries, TheNextUrlHasNone) {
  Canonicaliser canonicaliser;
  EXPECT_GT(canonicaliser.url("http://h.test/evil%2f..%5cx").literal_forms, 0);
  EXPECT_EQ(canonicaliser.url("http://h.test/a").literal_forms, 0);
  canonicaliser.url("http://h.test/evil%2f..%5cx");
  EXPECT_EQ(canonicaliser.host("h.test").literal_forms, 0);
}

// As nginx reads a path: decoded once, "//" merged, dots resolved; '\' is no separator.
std::string path_of_nginx(std::string_view raw) {
  std::string decoded;
  append_decoded_once(raw, decoded);
  std::vector<std::string> segments;
  bool is_directory = false;
  for (std::size_t begin = 1, end = 0; begin <= decoded.size(); begin = end + 1) {
    end = std::min(decoded.find('/', begin), decoded.size());
    const std::string segment = decoded.substr(begin, end - begin);
    is_directory = segment.empty() || segment == "." || segment == "..";
    if (segment == ".." && !segments.empty()) segments.pop_back();
    if (!is_directory) segments.push_back(segment);
  }
  std::string out;
  for (const std::string& segment : segments) (out += '/') += segment;
  return out.empty() || is_directory ? out + "/" : out;
}

std::string as_entries_are_written(std::string_view path) {
  std::string out;
  for (std::size_t begin = 1, end = 0; begin <= path.size(); begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    std::string decoded;
    append_decoded_fully(path.substr(begin, end - begin), decoded);
    append_escaped(decoded, Separators::escape, out += '/');
  }
  return out;
}

TEST(LiteralFormOfRandomPaths, WhatNginxServesIsAsked) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  constexpr std::string_view kPieces[] = {"/",     "/",     "%2f",     "%5c",  "%5C",  "..", ".",
                                          "/..",   "..%2f", "%2e",     "%2E.", "evil", "a",  "//",
                                          "%255c", "%252e", "%252f..", ";x",   "%41"};
  Canonicaliser canonicaliser;
  for (int n = 0; n < 20'000; ++n) {
    std::string path = "/";
    for (std::uint64_t pieces = 1 + random() % 9; pieces > 0; --pieces) path += kPieces[random() % std::size(kPieces)];
    const std::string text = "http://h.test" + path;
    const CanonicalUrl& url = canonicaliser.url(text);
    const std::string served = as_entries_are_written(path_of_nginx(path));
    // No entry but one for the path as it is requested has a name with a '\': the directories before it count.
    const std::size_t odd = served.find("%5C");
    const std::string asked = odd == std::string::npos ? served : served.substr(0, served.rfind('/', odd) + 1);
    EXPECT_TRUE(std::ranges::any_of(url.asked(),
                                    [&](const UrlForm& form) {
                                      return odd == std::string::npos ? form.path == asked
                                                                      : form.path.starts_with(asked);
                                    }))
        << path << " is served from " << served;
  }
}

}  // namespace
}  // namespace bloomwall::filter
