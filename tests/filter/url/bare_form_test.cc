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

struct BareFormRow {
  std::string_view name, url, bare;  // the expression, or "" for none
};
class BareForm : public testing::TestWithParam<BareFormRow> {};

std::vector<std::string> bare_forms(const CanonicalUrl& url) {
  std::vector<std::string> out;
  for (std::size_t i = url.forms.size() + url.literal_forms; i < url.asked().size(); ++i)
    out.push_back(url.expression(i));
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
        BareFormRow{"NoParameters", "http://h.test/a/b?c;d", ""},
        BareFormRow{"InAQueryTheyAreNone", "http://h.test/a?x=1;y=2", ""},
        BareFormRow{"OfTheLastSegment", "http://h.test/a/evil.html;x=1", "h.test/a/evil.html"},
        BareFormRow{"OfASegmentInTheMiddle", "http://h.test/bad;x=1/evil.html?q", "h.test/bad/evil.html?q"},
        BareFormRow{"OfEverySegment", "http://h.test/a;1/b;2;3/c;", "h.test/a/b/c"},
        BareFormRow{"OfADirectory", "http://h.test/bad;x/", "h.test/bad/"},
        BareFormRow{"AnEmptyOne", "http://h.test/evil.html;", "h.test/evil.html"},
        BareFormRow{"OfTheRoot", "http://h.test/;x", "h.test/"},
        BareFormRow{"OfAnEmptySegment", "http://h.test/;x/evil.html", "h.test/evil.html"},
        BareFormRow{"BehindTwoDots", "http://h.test/ok/..;/evil.html", "h.test/evil.html"},
        BareFormRow{"BehindTwoDotsWithValue", "http://h.test/ok/..;v=1/evil.html", "h.test/evil.html"},
        BareFormRow{"BehindADot", "http://h.test/.;/evil.html", "h.test/evil.html"},
        BareFormRow{"BehindEscapedDots", "http://h.test/ok/%2e%2e;/evil.html", "h.test/evil.html"},
        BareFormRow{"EscapedSemicolon", "http://h.test/bad%3bx/evil.html", "h.test/bad/evil.html"},
        BareFormRow{"TwiceEscapedSemicolon", "http://h.test/bad%253Bx/evil.html", "h.test/bad/evil.html"},
        BareFormRow{"EscapedDotsAndSemicolon", "http://h.test/ok/%2e%2e%3b/evil.html", "h.test/evil.html"},
        BareFormRow{"AnEscapedSlashInAParameterGoesWithIt", "http://h.test/bad;x=%2f..%2f/evil.html",
                    "h.test/bad/evil.html"},
        BareFormRow{"AnEscapedQuestionMarkInAParameterGoesWithIt", "http://h.test/bad;x=%3f/evil.html",
                    "h.test/bad/evil.html"},
        BareFormRow{"ABackslashEndsASegment", "http://h.test/bad;x\\evil.html", "h.test/bad/evil.html"},
        BareFormRow{"SlashesCollapse", "http://h.test/bad;x//evil.html", "h.test/bad/evil.html"},
        BareFormRow{"AnEscapedSlashOfTheNameSeparates", "http://h.test/bad%2fevil.html;x", "h.test/bad/evil.html"},
        // What another reading of the path makes of it once the parameters are gone.
        BareFormRow{"AnEscapedSlashThatIsDecodedFirst", "http://h.test/;%2fevil", "h.test/evil"},
        BareFormRow{"AnEscapedSlashBehindAValue", "http://h.test/;v=1%2Fdir/page", "h.test/dir/page"},
        BareFormRow{"ResolvedBeforeItIsCollapsed", "http://h.test/dir;v//../page", "h.test/dir/page"},
        BareFormRow{"ResolvedBeforeItIsCollapsedAtTheEnd", "http://h.test/dir;v//../", "h.test/dir/"},
        BareFormRow{"ResolvedBeforeItIsCollapsedByBareDots", "http://h.test/dir;v//..;/", "h.test/dir/"},
        BareFormRow{"AParameterAloneIsAnEmptySegment", "http://h.test/a/;v/..;/page", "h.test/a/page"},
        BareFormRow{"ADotSegmentThatIsANameAfterOneDecoding", "http://h.test/dir;/%252e%2f/..;//", "h.test/dir/"},
        BareFormRow{"DotsThatAreANameAfterOneDecoding", "http://h.test/dir;v/%252e%252e/x", "h.test/dir/../x"},
        BareFormRow{"ASlashThatIsData", "http://h.test/a%2fb;v", "h.test/a%2Fb"},
        BareFormRow{"AnEscapedQuestionMarkThatCuts", "http://h.test/a%2fb;v%2fc%3fd", "h.test/a/b/c?d"},
        BareFormRow{"SpeltParametersBeforeOneDecoding", "http://h.test/dir;v=%2f/%252e%2f/..;//", "h.test/dir/"},
        BareFormRow{"EqualToAnotherFormIsNone", "http://h.test/a/b;x/..", ""},
        BareFormRow{"AHostAlone", "http://h.test", ""}),
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
