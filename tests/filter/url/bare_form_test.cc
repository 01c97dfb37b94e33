// The readings without parameters: which paths have them, what they are, and that they are none of the ambiguous forms.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "filter/url/canonical_url.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {
namespace {

struct Row {
  std::string_view name, url, bare;  // the expression, or "" for none
};
class BareForm : public testing::TestWithParam<Row> {};

std::vector<std::string> bare_forms(const CanonicalUrl& url) {
  std::vector<std::string> out;
  for (std::size_t i = url.forms.size(); i < url.asked().size(); ++i) out.push_back(url.expression(i));
  return out;
}

TEST_P(BareForm, IsAskedAsWell) {
  Canonicaliser canonicaliser;
  const CanonicalUrl& url = canonicaliser.url(GetParam().url);
  EXPECT_LE(url.forms.size(), kMaxForms);
  EXPECT_LE(url.asked().size(), kMaxAsked);
  if (GetParam().bare.empty()) {
    EXPECT_THAT(bare_forms(url), testing::IsEmpty());
  } else {
    EXPECT_THAT(bare_forms(url), testing::Contains(GetParam().bare));
  }
  // What is canonical is read in no way that the URL is not.
  const std::vector<std::string> bare = bare_forms(url);
  const std::string canonical = url.text();
  Canonicaliser again;
  if (url.forms.size() == 1) {
    EXPECT_THAT(bare, testing::IsSupersetOf(bare_forms(again.url(canonical))));
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
        // What another reading of the path makes of it once the parameters are gone.
        Row{"AnEscapedSlashThatIsDecodedFirst", "http://h.test/;%2fevil", "h.test/evil"},
        Row{"AnEscapedSlashBehindAValue", "http://h.test/;v=1%2Fdir/page", "h.test/dir/page"},
        Row{"ResolvedBeforeItIsCollapsed", "http://h.test/dir;v//../page", "h.test/dir/page"},
        Row{"ResolvedBeforeItIsCollapsedAtTheEnd", "http://h.test/dir;v//../", "h.test/dir/"},
        Row{"ResolvedBeforeItIsCollapsedByBareDots", "http://h.test/dir;v//..;/", "h.test/dir/"},
        Row{"AParameterAloneIsAnEmptySegment", "http://h.test/a/;v/..;/page", "h.test/a/page"},
        Row{"ADotSegmentThatIsANameAfterOneDecoding", "http://h.test/dir;/%252e%2f/..;//", "h.test/dir/"},
        Row{"DotsThatAreANameAfterOneDecoding", "http://h.test/dir;v/%252e%252e/x", "h.test/dir/../x"},
        Row{"ASlashThatIsData", "http://h.test/a%2fb;v", "h.test/a%2Fb"},
        Row{"AnEscapedQuestionMarkThatCuts", "http://h.test/a%2fb;v%2fc%3fd", "h.test/a/b/c?d"},
        Row{"SpeltParametersBeforeOneDecoding", "http://h.test/dir;v=%2f/%252e%2f/..;//", "h.test/dir/"},
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
  EXPECT_EQ(canonicaliser.host("h.test").bare_forms, 0);
  EXPECT_EQ(canonicaliser.host("H.test.").bare_forms, 0);
  canonicaliser.url("http://h.test/a;x");
  EXPECT_EQ(canonicaliser.url("http://h.test/a").bare_forms, 0);
}

}  // namespace
}  // namespace bloomwall::filter
