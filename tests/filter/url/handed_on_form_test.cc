// The readings of what a server hands to another one or to a library, and the escapes that some servers alone decode.
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

struct HandedOnRow {
  std::string_view name, url, form;  // the expression, or "" for none
};
class HandedOnForm : public testing::TestWithParam<HandedOnRow> {};

std::vector<std::string> handed_on(const CanonicalUrl& url) {
  std::vector<std::string> out;
  for (std::size_t i = url.asked().size() - url.handed_on_forms; i < url.asked().size(); ++i)
    out.push_back(url.expression(i));
  return out;
}

TEST_P(HandedOnForm, IsAskedAsWell) {
  Canonicaliser canonicaliser;
  const CanonicalUrl& url = canonicaliser.url(GetParam().url);
  EXPECT_EQ(url.action, UrlAction::lookup) << to_string(url.reason);
  EXPECT_LE(url.forms.size(), kMaxForms);
  EXPECT_LE(url.handed_on_forms, url.bare_forms);
  if (GetParam().form.empty()) {
    EXPECT_THAT(handed_on(url), testing::IsEmpty());
  } else {
    EXPECT_THAT(handed_on(url), testing::Contains(GetParam().form));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, HandedOnForm,
    testing::Values(
        HandedOnRow{"AnOrdinaryPath", "http://h.test/a/b?c", ""},
        HandedOnRow{"TwoSlashesInside", "http://h.test/a//b", ""},
        HandedOnRow{"LettersInEscapes", "http://h.test/caf%C3%A9", ""},
        HandedOnRow{"ABlankInAQuery", "http://h.test/a?b%20c%23", ""},
        HandedOnRow{"AnAuthority", "http://h.test//x/evil.html", "h.test/evil.html"},
        HandedOnRow{"AnAuthorityWithPort", "http://h.test//x:80/evil.html?q", "h.test/evil.html?q"},
        HandedOnRow{"AnAuthorityBehindManySlashes", "http://h.test////x/d/evil.html", "h.test/d/evil.html"},
        HandedOnRow{"AnAuthorityAndDots", "http://h.test//x/a/../evil.html", "h.test/evil.html"},
        HandedOnRow{"AnAuthorityAndParameters", "http://h.test//x/evil.html;v=1", "h.test/evil.html"},
        HandedOnRow{"AnAuthorityAndAnEscapedSlash", "http://h.test//x/a%2fevil.html", "h.test/a%2Fevil.html"},
        HandedOnRow{"AnAuthorityAlone", "http://h.test//x", "h.test/"},
        HandedOnRow{"AnAuthorityAndAQuery", "http://h.test//x?q", "h.test/?q"},
        HandedOnRow{"AnAuthorityWithAUserAndAnEscape", "http://h.test//u@x%2f%2e%2fevil.html", "h.test/evil.html"},
        HandedOnRow{"AnAuthorityWithAUserAndAnotherOctet", "http://h.test//u@x!d/evil.html", "h.test/!d/evil.html"},
        HandedOnRow{"AnAuthorityWithTwoUsers", "http://h.test//u@v@x%2fd%2fevil.html", "h.test/d/evil.html"},
        HandedOnRow{"SlashesAlone", "http://h.test///", ""}, HandedOnRow{"SlashesAndAQuery", "http://h.test//?a/b", ""},
        HandedOnRow{"ANumberSign", "http://h.test/evil.html%23", "h.test/evil.html"},
        HandedOnRow{"ANumberSignAndMore", "http://h.test/evil.html%23/x/y", "h.test/evil.html"},
        HandedOnRow{"ATwiceEscapedNumberSign", "http://h.test/evil.html%2523x", "h.test/evil.html"},
        HandedOnRow{"ANumberSignBehindADirectory", "http://h.test/d/%23", "h.test/d/"},
        HandedOnRow{"DotsBehindWhichTheTargetEnds", "http://h.test/d/x/..%23", "h.test/d/"},
        HandedOnRow{"ABlankAtTheEnd", "http://h.test/evil.html%20", "h.test/evil.html"},
        HandedOnRow{"ABlankAtTheEndOfThePath", "http://h.test/evil.html%20?q=1", "h.test/evil.html?q=1"},
        HandedOnRow{"BlanksAtTheEnd", "http://h.test/evil.html%20%20", "h.test/evil.html"},
        HandedOnRow{"ABlankInside", "http://h.test/evil.html%20HTTP/1.0", "h.test/evil.html"},
        HandedOnRow{"AnEndOfLine", "http://h.test/evil.html%0d%0ax:", "h.test/evil.html"},
        HandedOnRow{"ATab", "http://h.test/evil.html%09", "h.test/evil.html"},
        HandedOnRow{"AnOctetZero", "http://h.test/evil.html%00.png", "h.test/evil.html"},
        HandedOnRow{"AnEscapedMarkAndANumberSign", "http://h.test/evil.php%3fid=1%23", "h.test/evil.php?id=1"},
        HandedOnRow{"ABlankOfLatin1", "http://h.test/evil.html%A0", "h.test/evil.html"},
        HandedOnRow{"AnEndOfLineOfLatin1", "http://h.test/evil.html%85x", "h.test/evil.html"},
        HandedOnRow{"OctetsOfLongerCharacters", "http://h.test/%C3%A0%E3%81%85/%D0%A0", ""},
        HandedOnRow{"BackslashesOfAnAuthority", "http://h.test/%5c%5cx%5cevil.html", "h.test/evil.html"},
        HandedOnRow{"EscapedSlashesOfAnAuthority", "http://h.test/%2fx/evil.html?q=1", "h.test/evil.html?q=1"},
        HandedOnRow{"AnAuthorityBehindDots", "http://h.test/.//x/d/evil.html", "h.test/d/evil.html"},
        HandedOnRow{"AnAuthorityBehindADotBehindSlashes", "http://h.test//.////x//d//evil.html", "h.test/d/evil.html"},
        HandedOnRow{"AnAuthorityBehindAnEscapedDot", "http://h.test/%2e//x/evil.html", "h.test/evil.html"},
        HandedOnRow{"AnAuthorityBehindWhatDotsRemove", "http://h.test/%3f/..//x/evil.html", "h.test/evil.html"},
        HandedOnRow{"ABackslashBetweenDots", "http://h.test/d/%5c../x//../e/page.txt", "h.test/d/e/page.txt"},
        HandedOnRow{"EscapesBehindAMarkThatDotsRemove", "http://h.test/%3f/../%252fd%252fevil.html",
                    "h.test/d/evil.html"},
        HandedOnRow{"BothAtOnce", "http://h.test//x/evil.html%23", "h.test/evil.html"},
        HandedOnRow{"AParameterAndANumberSign", "http://h.test/evil.html;v%23", "h.test/evil.html;v"},
        HandedOnRow{"UnicodeInAQuery", "http://h.test/a.php?%u0069d=1", "h.test/a.php?id=1"},
        HandedOnRow{"UnicodeInAQueryOfMoreOctets", "http://h.test/a.php?q=%u00e9%u4E2D",
                    "h.test/a.php?q=%C3%A9%E4%B8%AD"},
        HandedOnRow{"UnicodeInAQueryUpperCase", "http://h.test/a.php?%U0069d=1", "h.test/a.php?id=1"},
        HandedOnRow{"LooseDigits", "http://h.test/evil%2>html", "h.test/evil.html"},
        HandedOnRow{"LooseNines", "http://h.test/ev%6@l.ph%70?f%6`le", "h.test/evil.php?file"},
        HandedOnRow{"LooseDots", "http://h.test/x/%2>%2>/evil.html", "h.test/evil.html"},
        HandedOnRow{"ALooseSlashWithTheMarkOfAQuery", "http://h.test/d%2?evil.html?q", "h.test/d/evil.html?q"},
        HandedOnRow{"ALooseSlashIsData", "http://h.test/d%2?evil.html", "h.test/d%2Fevil.html"},
        HandedOnRow{"LooseDigitsEscapedTwice", "http://h.test/evil%252>html", "h.test/evil.html"},
        HandedOnRow{"EscapedLooseDigits", "http://h.test/evil%2%3ehtml", "h.test/evil.html"},
        HandedOnRow{"LooseDigitsInAQuery", "http://h.test/a?f%6`le", "h.test/a?file"},
        HandedOnRow{"LooseDigitsAndAnAuthority", "http://h.test//x/evil%2>html", "h.test/evil.html"},
        HandedOnRow{"LooseDigitsAndANumberSign", "http://h.test/evil%2>html%23", "h.test/evil.html"},
        HandedOnRow{"LooseDigitsHandedOn", "http://h.test/x%3f/../d/evi%256<.html", "h.test/d/evil.html"},
        HandedOnRow{"LooseDigitsHandedOnFromTheRoot", "http://h.test/%3f/../scr%256@pt.php", "h.test/script.php"},
        HandedOnRow{"DecodedTwiceAndAMarkInAName", "http://h.test/%252f%3f%252f..%252fevil.html", "h.test/evil.html"},
        HandedOnRow{"DecodedTwiceWithTheMarkToo", "http://h.test/x%253f%252f..%252fd%252fevil.html?q=1",
                    "h.test/d/evil.html?q=1"},
        HandedOnRow{"DecodedTwiceAndAnAuthority", "http://h.test/%252f%252fx:80%252f%252fevil.html",
                    "h.test/evil.html"},
        HandedOnRow{"ATargetThatEndsBeforeItsDots", "http://h.test/d/evil.html%23/..", "h.test/d/evil.html"},
        HandedOnRow{"ATargetThatEndsBeforeItsDotsBehindANameOnceDecoded",
                    "http://h.test/d/x%253f%252f../e/evil.html%23/..", "h.test/d/e/evil.html"},
        HandedOnRow{"AnAuthorityAndAQueryBeforeItsDots", "http://h.test/%2fx/d/evil.html%3f/..",
                    "h.test/d/evil.html?/.."},
        HandedOnRow{"AnAuthorityAndAQueryBeforeItsDotsTwice", "http://h.test/%252fx/d/evil.html%3f/%252e%252e/x",
                    "h.test/d/evil.html?/../x"},
        HandedOnRow{"ATargetThatEndsBeforeEscapedDots", "http://h.test/evil.html%20/%2e%2e/x?q", "h.test/evil.html"},
        HandedOnRow{"ATargetThatEndsOnceDecodedTwice", "http://h.test/d/evil.html%2523/..", "h.test/d/evil.html"},
        HandedOnRow{"ATargetThatEndsBehindDots", "http://h.test/x/../evil.html%09/../..", "h.test/evil.html"},
        HandedOnRow{"AUrlEscapedTwice", "http://h.test/r/https%253A%252F%252Fa.test%252Fb%253Fc%253Dd%2526e",
                    "h.test/r/https:/a.test/b%3Fc=d&e"},
        HandedOnRow{"APercentBeforeASign", "http://h.test/100%-5%&?100%", ""},
        HandedOnRow{"APercentBeforeOneDigit", "http://h.test/100%2", ""},
        HandedOnRow{"BrokenUnicodeInAQuery", "http://h.test/a.php?%u00d=1", ""}),
    [](const auto& row) { return std::string(row.param.name); });

struct OddEscapeRow {
  std::string_view name, url;
  UrlReason reason;
};
class OddEscape : public testing::TestWithParam<OddEscapeRow> {};

TEST_P(OddEscape, IsRejectedInAPath) {
  Canonicaliser canonicaliser;
  const CanonicalUrl& url = canonicaliser.url(GetParam().url);
  EXPECT_EQ(url.reason, GetParam().reason);
  EXPECT_EQ(url.action, GetParam().reason == UrlReason::none ? UrlAction::lookup : UrlAction::reject);
  EXPECT_TRUE(url.has_canonical);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, OddEscape,
    testing::Values(OddEscapeRow{"ALetter", "http://h.test/%u0065vil.html", UrlReason::odd_escape},
                    OddEscapeRow{"UpperCase", "http://h.test/%U0065vil.html", UrlReason::odd_escape},
                    OddEscapeRow{"Dots", "http://h.test/a/%u002e%u002e/evil.html", UrlReason::odd_escape},
                    OddEscapeRow{"ASlash", "http://h.test/d%u002fevil.html", UrlReason::odd_escape},
                    OddEscapeRow{"AWideLetter", "http://h.test/%uFF45vil.html", UrlReason::odd_escape},
                    OddEscapeRow{"EscapedTwice", "http://h.test/%25u0065vil.html", UrlReason::odd_escape},
                    OddEscapeRow{"EscapedThreeTimes", "http://h.test/%252575%%75006%35vil.html", UrlReason::odd_escape},
                    OddEscapeRow{"AnEscapedU", "http://h.test/%%750065vil.html", UrlReason::odd_escape},
                    OddEscapeRow{"AnEscapedDigit", "http://h.test/%u006%35vil.html", UrlReason::odd_escape},
                    OddEscapeRow{"BehindAnotherPercent", "http://h.test/%%u0065vil.html", UrlReason::odd_escape},
                    OddEscapeRow{"BehindAMarkThatIsADigit", "http://h.test/%2?/%u0065", UrlReason::odd_escape},
                    OddEscapeRow{"InAParameter", "http://h.test/a;x=%u002fevil.html", UrlReason::odd_escape},
                    OddEscapeRow{"LooseDigits", "http://h.test/%u006:", UrlReason::odd_escape},
                    OddEscapeRow{"LooseDigitsOfAnOctetAreAReading", "http://h.test/ev%6@l.html", UrlReason::none},
                    OddEscapeRow{"BehindAnAuthority", "http://h.test//x/%u0065", UrlReason::odd_escape},
                    OddEscapeRow{"TooFewDigits", "http://h.test/%u006", UrlReason::none},
                    OddEscapeRow{"OtherLetters", "http://h.test/100%ugly", UrlReason::none},
                    OddEscapeRow{"APercentThatIsData", "http://h.test/100%25:1", UrlReason::none},
                    OddEscapeRow{"InAQuery", "http://h.test/a?b=%u0065", UrlReason::none}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(HandedOnFormOfEntries, AnEntryMeansWhatItSays) {
  EntryParser parser;
  for (const auto& [url, entry] : {std::pair{"http://h.test/a%20b.html", "h.test/a%20b.html"},
                                   std::pair{"http://h.test//x/a.html", "h.test/x/a.html"},
                                   std::pair{"http://h.test/a.html%23", "h.test/a.html%23"}}) {
    const ParsedEntry parsed = parser.url(url);
    ASSERT_EQ(parsed.entries.size(), 1U) << url;
    EXPECT_EQ(text_of(parsed.entries[0]), entry);
  }
}

TEST(HandedOnForms, AreRejectedWhereThereAreMoreThanAreAsked) {
  Canonicaliser canonicaliser;
  const CanonicalUrl& url = canonicaliser.url(
      "http://h.test//x;%23/a%252f%23//..%2f..%255c%252e%252e;%20//b%3f%253f%09/..;v//c%5c..%2f%20%252f;/%23d");
  EXPECT_EQ(url.action, UrlAction::reject);
  EXPECT_EQ(url.reason, UrlReason::many_readings);
  EXPECT_EQ(url.asked().size(), kMaxAsked);
}

}  // namespace
}  // namespace bloomwall::filter
