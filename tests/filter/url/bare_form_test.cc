// The reading without parameters: which paths have it, what it is, and that it is none of the ambiguous forms.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "filter/url/canonical_url.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {
namespace {

struct Row {
  std::string_view name, url, bare;  // the expression, or "" for none
};
class BareForm : public testing::TestWithParam<Row> {};

TEST_P(BareForm, IsOneMoreThatIsAsked) {
  Canonicaliser canonicaliser;
  const CanonicalUrl& url = canonicaliser.url(GetParam().url);
  ASSERT_EQ(url.has_bare_form, !GetParam().bare.empty());
  ASSERT_EQ(url.asked().size(), url.forms.size() + (url.has_bare_form ? 1 : 0));
  EXPECT_LE(url.asked().size(), kMaxForms);
  if (url.has_bare_form) {
    EXPECT_EQ(url.expression(url.forms.size()), GetParam().bare);
  }
  // What is canonical has the same one.
  const std::string canonical = url.text();
  Canonicaliser again;
  if (url.forms.size() == 1) {
    EXPECT_EQ(again.url(canonical).has_bare_form, url.has_bare_form);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BareForm,
    testing::Values(
        Row{"NoParameters", "http://h.test/a/b?c;d", ""}, Row{"InAQueryTheyAreNone", "http://h.test/a?x=1;y=2", ""},
        Row{"OfTheLastSegment", "http://h.test/a/evil.html;x=1", "h.test/a/evil.html"},
        Row{"OfASegmentInTheMiddle", "http://h.test/bad;x=1/evil.html?q", "h.test/bad/evil.html?q"},
        Row{"OfEverySegment", "http://h.test/a;1/b;2;3/c;", "h.test/a/b/c"},
        Row{"OfADirectory", "http://h.test/bad;x/", "h.test/bad/"},
        Row{"AnEmptyOne", "http://h.test/evil.html;", "h.test/evil.html"},
        Row{"OfTheRoot", "http://h.test/;x", "h.test/"},
        Row{"OfAnEmptySegment", "http://h.test/;x/evil.html", "h.test/evil.html"},
        Row{"BehindTwoDots", "http://h.test/ok/..;/evil.html", "h.test/evil.html"},
        Row{"BehindTwoDotsWithValue", "http://h.test/ok/..;v=1/evil.html", "h.test/evil.html"},
        Row{"BehindADot", "http://h.test/.;/evil.html", "h.test/evil.html"},
        Row{"BehindEscapedDots", "http://h.test/ok/%2e%2e;/evil.html", "h.test/evil.html"},
        Row{"EscapedSemicolon", "http://h.test/bad%3bx/evil.html", "h.test/bad/evil.html"},
        Row{"TwiceEscapedSemicolon", "http://h.test/bad%253Bx/evil.html", "h.test/bad/evil.html"},
        Row{"EscapedDotsAndSemicolon", "http://h.test/ok/%2e%2e%3b/evil.html", "h.test/evil.html"},
        Row{"AnEscapedSlashInAParameterGoesWithIt", "http://h.test/bad;x=%2f..%2f/evil.html", "h.test/bad/evil.html"},
        Row{"AnEscapedQuestionMarkInAParameterGoesWithIt", "http://h.test/bad;x=%3f/evil.html", "h.test/bad/evil.html"},
        Row{"ABackslashEndsASegment", "http://h.test/bad;x\\evil.html", "h.test/bad/evil.html"},
        Row{"SlashesCollapse", "http://h.test/bad;x//evil.html", "h.test/bad/evil.html"},
        Row{"AnEscapedSlashOfTheNameSeparates", "http://h.test/bad%2fevil.html;x", "h.test/bad/evil.html"},
        Row{"EqualToAnotherFormIsNone", "http://h.test/a/b;x/..", ""}, Row{"AHostAlone", "http://h.test", ""}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(BareFormOfEntries, AnEntryMeansWhatItSays) {
  EntryParser parser;
  const ParsedEntry parsed = parser.url("http://h.test/a;x=1");
  ASSERT_EQ(parsed.entries.size(), 1U);
  EXPECT_EQ(text_of(parsed.entries[0]), "h.test/a;x=1");
}

TEST(BareFormOfEntries, AHostHasNone) {
  Canonicaliser canonicaliser;
  canonicaliser.url("http://h.test/a;x");
  EXPECT_FALSE(canonicaliser.host("h.test").has_bare_form);
  EXPECT_FALSE(canonicaliser.host("H.test.").has_bare_form);
  canonicaliser.url("http://h.test/a;x");
  EXPECT_FALSE(canonicaliser.url("http://h.test/a").has_bare_form);
}

}  // namespace
}  // namespace bloomwall::filter
