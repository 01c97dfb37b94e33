// SPDX-License-Identifier: Apache-2.0
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

#define NARROWED "warn: narrowed: the rule means more than its keys"

ReadOptions adblock() {
  ReadOptions options;
  options.format = Format::adblock;
  return options;
}

class Adblock : public testing::TestWithParam<Row> {};
TEST_P(Adblock, IsRead) { expect_row(GetParam(), adblock()); }

INSTANTIATE_TEST_SUITE_P(
    Hosts, Adblock,
    testing::Values(Row{"AnchoredHost", "||example.com^\n", "S example.com"},
                    Row{"AnchoredHostAndStar", "||example.com^*\n", "S example.com"},
                    Row{"AnchoredHostAndSlash", "||example.com/\n||example.net/*\n", "S example.com, S example.net"},
                    Row{"AnchoredHostAndEnd", "||example.com|\n", "S example.com"},
                    Row{"WithoutSeparatorIsNarrowed", "||example.com\n", "S example.com, " NARROWED},
                    Row{"Address", "||192.0.2.1^\n||[2001:db8::1]^\n", "X 192.0.2.1, X [2001:db8::1]"},
                    Row{"CaseGoes", "||EXAMPLE.com^\n", "S example.com"},
                    Row{"SingleLabel", "||intranet^\n", "S intranet"},
                    Row{"PublicSuffix", "||github.io^\n", "S github.io, warn: public suffix"},
                    Row{"BareName", "example.com\nsub.example.co.uk\n", "S example.com, S sub.example.co.uk"},
                    Row{"BareAddress", "192.0.2.1\n", "X 192.0.2.1"},
                    Row{"HostsLine", "0.0.0.0 a.example.com b.example.com\n127.0.0.1 localhost\n",
                        "X a.example.com, X b.example.com, boilerplate"},
                    Row{"CommentAfterARule", "||a.example^ # why\n||b.example^\t! why\nexample.com // why\n",
                        "S a.example, S b.example, S example.com"},
                    Row{"OneHost", "|example.com^\n|example.net|\n@@|example.org^|\n",
                        "X example.com, X example.net, allow @@|example.org^"},
                    Row{"SubdomainsAlone", "||*.example.com^\n@@||*.example.net^\n",
                        "W example.com, allow @@||*.example.net^"},
                    Row{"PortGoes", "||example.com:8080^\n||example.net:81/a/\n",
                        "S example.com, D example.net/a/, warn: port taken off, taken as the whole host"},
                    Row{"HyphenAndUnderscore", "-sso.example.com\n_srv.example.co.uk\n",
                        "S -sso.example.com, S _srv.example.co.uk"},
                    Row{"SpacedComments", "; a\n// b\n;\n", "comment x3"},
                    Row{"GluedComment", "||a.example^#why\nb.example#why\n", "S a.example, S b.example"},
                    Row{"BareUrl", "http://example.com/a/b\n", "U example.com/a/b"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    HostsLeftOut, Adblock,
    testing::Values(
        Row{"TopLevelDomain", "||zip^\n", "skip: top-level domain"},
        Row{"BeginningOfAHost", "||ads.\n||192.0.2.\n||ads\n||ads*\n||ads.example*\n", "skip: beginning of a host x5"},
        Row{"WildcardInHost", "||*.*.example.com^\n||a*b.example^\n||example.*^\n|*.example.com^\n",
            "skip: wildcard inside a rule x4"},
        Row{"NoPort", "||example.com:port^\n", "bad: text behind a colon that is no port"},
        Row{"BeginningOfAHostOrAUrl", "|example.com\n|example.com/a^\n||*.ads.\n",
            "skip: beginning of a host x2, skip: piece of a URL"},
        Row{"RootPageAlone", "||example.com^|\n||example.com/|\n||example.com/^\n",
            "skip: rule for the root page alone x3"},
        Row{"RootPageInOtherWords",
            "||example.com//\n||example.com/%2e^\n||example.com/a/..|\n||example.com/a/../\n||example.com/\\|\n"
            "@@||example.com/a/..|\n@@||example.com/.^\n||example.com//*\n",
            "skip: rule for the root page alone x8"},
        Row{"OneScheme", "|https://example.com^\n|http://\n", "skip: rule for one scheme x2"},
        Row{"FileNamesAreNoHosts",
            "banner.js\nads.php\n-banner.com\n_ads.co.uk\n.example.com\nexample.com^\n;ad=\n//ad\n",
            "skip: piece of a URL x8"},
        Row{"AddressRange", "||192.0.2.0/24^\n", "skip: address range"},
        Row{"Nothing", "||^\n||\n|\n", "skip: piece of a URL x2, skip: rule for one scheme"},
        Row{"BadAddress", "||192.0.2.999^\n", "bad: host ends in a number but is not an IPv4 address"},
        Row{"OpenBracket", "||[2001:db8::1^\n", "bad: octets that no host has"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    Paths, Adblock,
    testing::Values(
        Row{"Directory", "||example.com/a/\n||example.com/b/*\n", "D example.com/a/, D example.com/b/"},
        Row{"FileAndSeparator", "||example.com/a.js^\n", "U example.com/a.js, D example.com/a.js/, " NARROWED},
        Row{"FileAndSeparatorAndStar", "||example.com/a^*\n", "U example.com/a, D example.com/a/, " NARROWED},
        Row{"FileAndEnd", "||example.com/a.js|\n", "U example.com/a.js"},
        Row{"DirectoryPageAlone", "||example.com/a/|\n||example.com/b/^\n", "U example.com/a, U example.com/b"},
        Row{"PrefixIsNarrowed", "||example.com/pre\n", "U example.com/pre, D example.com/pre/, " NARROWED},
        Row{"PrefixAndStarIsNarrowed", "||example.com/pre*\n", "U example.com/pre, D example.com/pre/, " NARROWED},
        // To some servers "/..%2f" is the root page, under which everything is.
        Row{"PrefixThatMayBeTheRoot", "||example.com/..%2f\n",
            "U example.com/, U example.com/..%2F, D example.com/..%2F/, " NARROWED},
        Row{"QueryAndEnd", "||example.com/a?b=1|\n", "Q example.com/a?b=1"},
        Row{"QueryIsNarrowed", "||example.com/a?b=1\n", "Q example.com/a?b=1, " NARROWED},
        Row{"AnyQuery", "||example.com/a?\n", "U example.com/a, warn: taken for any query"},
        Row{"DollarInPath", "||example.com/a$b/\n", "D example.com/a$b/"},
        Row{"UrlInQuery", "||example.com/a?u=http://example.net/|\n", "Q example.com/a?u=http://example.net/"},
        Row{"AddressAndPath", "||192.0.2.1/a^\n", "U 192.0.2.1/a, D 192.0.2.1/a/, " NARROWED}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    PathsLeftOut, Adblock,
    testing::Values(Row{"Wildcard", "||example.com/*x\n||example.com^*/x\n", "skip: wildcard inside a rule x2"},
                    Row{"Separator", "||example.com/a^b\n||example.com^a/\n", "skip: separator inside a rule x2"},
                    Row{"QueryOfTheRoot", "||example.com?a=b\n", "skip: piece of a URL"},
                    Row{"QueryOfADirectory", "||example.com/?\n||example.com/a/?\n",
                        "skip: any query of a directory x2"},
                    Row{"Substring", "/banner/ad.\n&ad=\n-160x600.\n", "skip: piece of a URL x3"},
                    Row{"Regex", "/ads[0-9]+/\n/ads$/$script\n@@/ads/\n", "skip: regular expression x3"},
                    Row{"Fragment", "||example.com/a#b\n", "skip: rule with a fragment"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    Modifiers, Adblock,
    testing::Values(
        Row{"Important", "||example.com^$important\n", "S example.com, warn: $important, taken as a plain rule"},
        Row{"All", "||example.com^$all\n", "S example.com"},
        Row{"Document", "||a.example^$document\n||b.example^$doc\n", "S a.example, S b.example"},
        Row{"PopupWithDocument", "||a.example^$popup,doc\n||b.example^$all,popup\n", "S a.example, S b.example"},
        Row{"MatchCaseAndNoops", "||example.com/A^$match-case,_,____\n",
            "U example.com/A, D example.com/A/, " NARROWED},
        Row{"PopupAlone", "||example.com^$popup\n", "skip: modifier $popup"},
        Row{"ThirdParty", "||a.example^$third-party\n||b.example^$3p\n", "skip: modifier $third-party x2"},
        Row{"NotThirdParty", "||a.example^$~third-party\n||b.example^$1p\n",
            "skip: modifier $first-party, skip: modifier $~third-party"},
        Row{"FirstOfSeveralCounts", "||a.example^$important,script,domain=b.example\n", "skip: modifier $script"},
        Row{"Domain", "||a.example^$domain=b.example|~c.example\n", "skip: modifier $domain"},
        Row{"DenyAllow", "*$script,3p,denyallow=a.example|b.example\n", "skip: modifier $script"},
        Row{"NegatedType", "||a.example^$~image\n||b.example^$~document\n",
            "skip: modifier $image, skip: modifier $~document"},
        Row{"DollarInAValue", "||a.example^$removeparam=/^x$/\n", "skip: modifier $removeparam"},
        Row{"ValueWithComma", "||a.example/$replace=/a,b/c/\n", "skip: modifier $replace"},
        Row{"Unknown", "||a.example^$brandnew\n||b.example^$brandnew=1,script\n",
            "skip: modifier this build does not know x2"},
        Row{"OnPlainNames", "example.com$script\nexample.net$all\n", "S example.net, skip: modifier $script"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    Exceptions, Adblock,
    testing::Values(
        Row{"Host", "@@||example.com^\n", "allow example.com"},
        Row{"Document", "@@||example.com^$document\n@@||example.net^$doc\n", "allow example.com, allow example.net"},
        Row{"Path", "@@||example.com/a/\n@@||example.com/b|\n", "allow example.com/a/, allow example.com/b"},
        Row{"GenericHide", "@@||example.com^$generichide\n", "skip: modifier $generichide"},
        Row{"EveryRequest", "@@||example.com^$important\n@@||example.com^$all\n@@|example.net^|$important,document\n",
            "allow example.com, allow example.com, allow @@|example.net^"},
        Row{"OtherModifiers", "@@||example.com^$important,match-case\n@@||example.com^$important,script\n",
            "skip: exception with a modifier, skip: modifier $script"},
        Row{"NarrowedModifiers", "@@||example.com^$script,domain=a.example\n", "skip: modifier $script"},
        Row{"AmbiguousPath", "@@||example.com/a//../b|\n", "skip: allow rule with an ambiguous path"},
        Row{"Substring", "@@/ads/banner.\n@@://192.0.2.1\n", "skip: piece of a URL x2"},
        Row{"HostsLineIsNoException", "@@0.0.0.0 a.example\n", "skip: piece of a URL"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    OtherLines, Adblock,
    testing::Values(
        Row{"Comments", "! a\n!\n# a\n#a\n#### b ####\n## c\n[Adblock Plus 2.0]\n", "comment x7"},
        Row{"Cosmetic",
            "##.ad\n###ad\na.example##.ad\na.example,~b.example#@#.ad\na.example#?#div\na.example#$#x\na.example#%#x\n"
            "a.example#@?#x\n/^a/##.ad\n*##.ad\na.example$$script\n[$path=/a]b.example##.ad\n",
            "skip: cosmetic rule x12"},
        Row{"Conditions", "!#if env_firefox\n||a.example^\n!#endif\n",
            "S a.example, comment, boilerplate, warn: condition of the list's preprocessor, read as if it held"},
        Row{"Include", "!#include other.txt\n", "skip: include of another list"}, Row{"Blank", "\n  \n", "blank x2"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    BadFilters, Adblock,
    testing::Values(Row{"TakesBackTheSameRule", "||a.example^\n||b.example^\n||a.example^$badfilter\n",
                        "S b.example, cancelled x2"},
                    Row{"StandsBefore", "||a.example^$badfilter\n||a.example^\n", "cancelled x2"},
                    Row{"KeepsOtherModifiers", "||a.example^$all\n||a.example^\n||a.example^$all,badfilter\n",
                        "S a.example, cancelled x2"},
                    Row{"OfAnException", "@@||a.example^\n@@||a.example^$badfilter\n", "cancelled x2"},
                    Row{"OfASkippedRule", "||a.example^$script\n||a.example^$badfilter,script\n", "cancelled x2"},
                    Row{"OfNothing", "||a.example^$badfilter\n", "cancelled"},
                    Row{"WordInAPath", "||a.example/badfilter^\n",
                        "U a.example/badfilter, D a.example/badfilter/, " NARROWED}),
    row_name);

TEST(AdblockOptions, AggressiveKeepsThirdPartyAlone) {
  ReadOptions options = adblock();
  options.aggressive = true;
  expect_row({"", "||a.example^$third-party\n||b.example^$3p,script\n||c.example^$~third-party\n",
              "S a.example, skip: modifier $script, skip: modifier $~third-party, warn: $third-party, taken for every "
              "request"},
             options);
}

TEST(AdblockOptions, HostsLinesFollowHostsAsSuffix) {
  ReadOptions options = adblock();
  options.hosts_as_suffix = true;
  expect_row({"", "0.0.0.0 a.example\n", "S a.example"}, options);
}

}  // namespace
}  // namespace bloomwall::filter::test
