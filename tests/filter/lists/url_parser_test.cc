// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <random>

#include "filter/lists/url_parser.h"
#include "tests/filter/lists/list_text.h"
#include "tests/support/seed.h"

namespace bloomwall::filter::test {
namespace {

class Urls : public testing::TestWithParam<Row> {};
TEST_P(Urls, AreRead) { expect_row(GetParam(), options_for(Format::urls)); }
INSTANTIATE_TEST_SUITE_P(
    Rules, Urls,
    testing::Values(
        Row{"Page", "http://example.com/a/b.html\n", "U example.com/a/b.html"},
        Row{"PageWithQuery", "https://example.com/a?q=1\n", "Q example.com/a?q=1"},
        Row{"Directory", "http://example.com/a/\n", "D example.com/a/"},
        Row{"BareHostIsSuffix", "http://example.com/\nhttp://example.net\n", "S example.com, S example.net"},
        Row{"BarePublicSuffixIsExact", "http://github.io/\n",
            "X github.io, warn: URL of a public suffix, taken as that host alone"},
        Row{"BareTopLevelDomainIsExact", "http://zip/\n",
            "X zip, warn: URL of a public suffix, taken as that host alone"},
        Row{"PathOnPublicSuffix", "http://github.io/a\n", "U github.io/a"},
        Row{"BareAddressIsExact", "http://192.0.2.1/\nhttp://[2001:db8::1]/\n", "X 192.0.2.1, X [2001:db8::1]"},
        Row{"AddressWithPath", "http://192.0.2.1:8080/i\n", "U 192.0.2.1/i"},
        Row{"PortOfAHost", "http://a.example:8080/\nhttp://b.example:443\nhttp://[2001:db8::1]:81/\n",
            "S a.example, S b.example, X [2001:db8::1], warn: port taken off, taken as the whole host x2"},
        Row{"RootsInDisguise", "http://a.example/?\nhttp://b.example//\nhttp://c.example/.\nhttp://d.example/%2e\n",
            "S a.example, S b.example, S c.example, S d.example, warn: path or query that says nothing, taken as the "
            "whole host x4"},
        Row{"NumberBehindAScheme", "http://85285/\nhttp://10.1/x\n", "X 0.1.77.37, U 10.0.0.1/x"},
        Row{"NameOfAColumn", "url\nhttp://a.example/x\n",
            "U a.example/x, boilerplate, warn: name of a column, left out"},
        Row{"PortGoes", "http://example.com:8080/a\n", "U example.com/a"},
        Row{"FragmentGoes", "http://example.com/a#b\n", "U example.com/a"},
        Row{"EmptyQueryGoes", "http://example.com/a?\n", "U example.com/a"},
        Row{"NoScheme", "example.com/a\nexample.net\n", "U example.com/a, S example.net"},
        Row{"ByteOrderMarkAndCr", "\xef\xbb\xbfhttp://example.com/a\r\n", "U example.com/a"},
        Row{"ByteOrderMarkWhereFilesWereJoined", "http://a.example/x\n\xef\xbb\xbfhttp://c.example/x\n",
            "U a.example/x, U c.example/x"},
        Row{"StarAtTheEndIsADirectory", "http://a.example/b/*\nhttp://c.example/*\n", "D a.example/b/, S c.example"},
        Row{"StarBehindASchemeIsData",
            "http://x.example/a/*3mail@b.c\nhttp://x.example/%2A\nhttp://x.example/*.js?c=*\nhttp://x.example/?*\n",
            "U x.example/a/*3mail@b.c, U x.example/*, Q x.example/*.js?c=*, Q x.example/?*"},
        Row{"SegmentsThatBeginWithASeparator",
            "http://a.example/x/,a\nhttp://a.example/;x\nhttp://a.example/|yes\nhttp://a.example/,;|\n"
            "http://a.example/b\nhttp://a.example/c\nhttp://a.example/d\n",
            "U a.example/x/,a, U a.example/;x, U a.example/|yes, U a.example/,;|, U a.example/b, U a.example/c, U "
            "a.example/d"},
        Row{"BlanksOfUnicodeAround", "\xe3\x80\x80http://a.example/b\xc2\xa0\n", "U a.example/b"},
        Row{"SlashesBehindABlankAreAComment", "http://a.example/b // why\n// why\n", "U a.example/b, comment"},
        Row{"SlashesInPlaceOfAScheme", "//example.com/a\n//example.net # why\n//192.0.2.0/24\n",
            "U example.com/a, S example.net, bad: empty host"},
        Row{"BlanksInAFragment", "http://a.example/b#c d\n", "U a.example/b"},
        Row{"FragmentOfTheRoot", "http://a.example/#!/evil\n",
            "S a.example, warn: fragment cut off, taken as the whole host"},
        Row{"UrlWithDigits", "http://192.0.2.0/24\n192.0.2.0/2024\n", "U 192.0.2.0/24, U 192.0.2.0/2024"},
        Row{"OtherCommentsAfter", "http://a.example/x ; why\nb.example/x ! why\n", "U a.example/x, U b.example/x"},
        Row{"CommentAfter", "http://example.com/a # why\n", "U example.com/a"},
        Row{"HashHashIsAFragment", "http://example.com/a##b\n", "U example.com/a"},
        Row{"EveryFormOfAnAmbiguousPath", "http://example.com/a//../b\n", "U example.com/b, U example.com/a/b"},
        Row{"CommasOfTheUrl",
            "http://a.example/kat,1234,title,foo,wid,99,wiadomosc.html\nhttp://a.example/maps/@48.1,11.5,17z\n"
            "http://a.example/0,1518,druck-7,00.html\nhttp://a.example/a,b,c\nhttp://a.example/a,2026-01-31,b.html\n"
            "http://a.example/f=a.js,b.js\nhttp://a.example/special,/v/index.php\n",
            "U a.example/kat,1234,title,foo,wid,99,wiadomosc.html, U a.example/maps/@48.1,11.5,17z, "
            "U a.example/0,1518,druck-7,00.html, U a.example/a,b,c, U a.example/a,2026-01-31,b.html, "
            "U a.example/f=a.js,b.js, U a.example/special,/v/index.php"},
        Row{"SeparatorsOfTheQuery",
            "http://a.example/?l=ja,en;q=0.5\nhttp://a.example/?f=A|B\nhttp://a.example/?d=2026-01-31,2026-02-28\n"
            "http://a.example/?u=http://b.example/,http://c.example/\n",
            "Q a.example/?l=ja,en;q=0.5, Q a.example/?f=A|B, Q a.example/?d=2026-01-31,2026-02-28, "
            "Q a.example/?u=http://b.example/,http://c.example/"},
        Row{"UrlInAUrl", "http://a.example/web/2020/http://b.example/\n", "D a.example/web/2020/http:/b.example/"},
        Row{"EntityOfAPage", "http://a.example/x?b=1&amp;c=2\n",
            "Q a.example/x?b=1&amp;c=2, Q a.example/x?b=1&c=2, warn: \"&amp;\" in a URL, taken as it stands and as "
            "'&'"},
        Row{"UserinfoIsOdd", "http://u@example.com/a\n",
            "U example.com/a, warn: odd host or URL, which requests may spell differently"},
        Row{"WildcardsAndDots", "*.a.example\n.b.example\n", "S a.example, S b.example"},
        Row{"CommentsAndBlanks", "# a\n; b\n! c\n\n", "blank, comment x3"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, Urls,
    testing::Values(
        Row{"OtherScheme", "gopher://example.com/a\nmailto://a\n", "skip: scheme other than http, https, ftp, ws x2"},
        Row{"WordsAfterTheUrl", "http://a.example/x\tphish\nhttp://a.example/x 2020-01-01 y\n",
            "bad: several words where a URL is expected x2"},
        Row{"OddHosts", "http://a|b.example/\na^.example/x\nb=c.example/x\na,b.example/x\n",
            "bad: host that no request can have x4"},
        Row{"QuotesAndMarkup",
            "\"a.example/x\n<a.example/x>\nhttp://a.example/x<br>\nhttp://a.example/x\"\n'http://a.example/x'\n",
            "bad: markup or a quote beside a URL x5"},
        Row{"SeveralUrls",
            "http://a.example/x,http://b.example/y\nhttp://a.example;https://b.example/\nhttp://a.example/x|http://"
            "b.example/\n"
            "http://a.example/x?y,http://b.example/\n",
            "bad: several URLs x4"},
        Row{"ColumnsBehindTheUrl",
            "http://a.example/x,2026-01-31,phish\nhttp://a.example/x,2026/01/31\nhttp://a.example/x|2026-01-31|online\n"
            "http://a.example/x;2026-01-31;phish\nhttp://a.example/x,online\nhttp://a.example/x,\"a\"\n"
            "http://a.example/x,192.0.2.1,US\nhttp://a.example/x.exe,Vidar\nhttp://a.example/,Vidar\n"
            "a.example/x|kit|high\nhttp://a.example/x?y=1,2026-01-31,online\n",
            "bad: columns of a table behind a URL; --format csv reads tables x11"},
        Row{"MistypedScheme", "http//a.example/x\n1http://a.example/x\nhttp://http://a.example/x\n",
            "bad: unknown scheme, or no \"//\" after it x3"},
        Row{"AddressRange", "10.9.0.0/16\n", "skip: address range"},
        Row{"WildcardInAQueryWithoutAScheme", "a.example/b?c=*\na.example/?*\na.example/b?*#d\n",
            "skip: wildcard inside a URL x3"},
        Row{"UserWithoutAScheme", "me@a.example/b\nme@a.example/\nme@a.example?c=d\nmailto:me@a.example\n",
            "bad: user before '@' without a scheme x3, bad: text behind a colon that is no port"},
        Row{"NumberWithoutAScheme", "10.1/x\n85285/x\n010.0.0.1/x\n1.2.3:80/x\n",
            "bad: host ends in a number but is not an IPv4 address x4"},
        Row{"WildcardInAPathWithoutAScheme", "a.example/*.js\na.example/a*/b\n", "skip: wildcard inside a URL x2"},
        Row{"WildcardInAHost", "http://*.a.example/\nhttp://a*.example/b\n", "skip: pattern that no key stands for x2"},
        Row{"ByteOrderMarkInside", "http://a.example/x\xef\xbb\xbfhttp://b.example/\n",
            "bad: byte order mark inside the line"},
        Row{"NoHost", "http:///a\n", "bad: empty host"},
        Row{"BadPort", "http://example.com:99999/a\n", "bad: port is not a number up to 65535"},
        Row{"BadAddress", "http://192.0.2.999/a\n", "bad: host ends in a number but is not an IPv4 address"},
        Row{"Words", "see example.com/a\n", "bad: several words where a URL is expected"}),
    row_name);

class SquidguardUrls : public testing::TestWithParam<Row> {};
TEST_P(SquidguardUrls, AreRead) { expect_row(GetParam(), options_for(Format::squidguard_urls)); }
INSTANTIATE_TEST_SUITE_P(
    Rules, SquidguardUrls,
    testing::Values(
        Row{"PrefixIsPageAndDirectory", "example.com/a\n", "U example.com/a, D example.com/a/"},
        Row{"DirectoryAlone", "example.com/a/\n", "D example.com/a/"},
        Row{"WithQuery", "example.com/a?b=1\n", "Q example.com/a?b=1"},
        Row{"HostAlone", "example.com\nexample.net/\n", "S example.com, S example.net"},
        Row{"Address", "192.0.2.1/a\n", "U 192.0.2.1/a, D 192.0.2.1/a/"},
        Row{"NumberThatIsNoPrefix", "192.0.2.5/42\n192.0.2.5/8\n",
            "U 192.0.2.5/42, D 192.0.2.5/42/, U 192.0.2.5/8, D 192.0.2.5/8/"},
        Row{"Tilde", "example.com/~a\n", "U example.com/~a, D example.com/~a/"},
        Row{"SchemeGoes", "http://example.com/a/\n", "D example.com/a/"},
        Row{"WwwGoes", "www.example.com/a/\n", "D example.com/a/, warn: leading www. taken off"},
        Row{"WwwStaysBeforeAPublicSuffix", "www.github.io/a/\nwww.com/b/\n", "D www.github.io/a/, D www.com/b/"},
        Row{"WwwDigitsAreAName", "www2s.example.com/a/\n", "D www2s.example.com/a/"},
        Row{"EveryFormHasItsDirectory", "example.com/a//../b\n",
            "U example.com/b, D example.com/b/, U example.com/a/b, D example.com/a/b/"},
        Row{"StarAtTheEndIsADirectory", "a.example/b/*\nc.example/*\n", "D a.example/b/, S c.example"},
        Row{"FragmentOfTheRoot", "a.example/#!/evil\n", "S a.example, warn: fragment cut off, taken as the whole host"},
        Row{"CommentsAndBlanks", "# a\n\n", "blank, comment"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, SquidguardUrls,
    testing::Values(
        Row{"NoHost", "/a/b\n", "bad: empty host"},
        Row{"Words", "a.example/x y\n", "bad: several words where a URL is expected"},
        Row{"AddressRange", "192.0.2.0/24\n198.51.100.0/24 # why\n", "skip: address range x2"},
        Row{"UserWithoutAScheme", "me@a.example/b\nme@a.example/\n", "bad: user before '@' without a scheme x2"},
        Row{"WildcardInAQuery", "a.example/b?*\n", "skip: wildcard inside a URL"},
        Row{"WildcardInAPath", "a.example/*.js\na.example/b*\n*.a.example/b*\n", "skip: wildcard inside a URL x3"},
        Row{"OtherLists", "||a.example/b^\naddress=/a.example/#\n", "bad: host that no request can have x2"},
        Row{"BadAddress", "192.0.2.999/a\n", "bad: host ends in a number but is not an IPv4 address"}),
    row_name);

TEST(SquidguardExpressions, AreCountedAndNotTaken) {
  expect_row({"", "(a|b)\\.example\n\n# c\n", "skip: regular expression, blank, comment"},
             options_for(Format::squidguard_expressions));
}

// A blank in front changes nothing but the way that a line takes.
TEST(BareUrls, AreReadLikeAllOthers) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> parts{"a",         "b.example",
                                       ".",         "/",
                                       "//",        "?",
                                       "=",         "&amp;",
                                       "&",         ":",
                                       "80",        "@",
                                       "%2f",       "%",
                                       "#",         "*",
                                       ",",         ";",
                                       "|",         "\"",
                                       "'",         "<",
                                       "-",         "_",
                                       "~",         "!",
                                       "\\",        "[::1]",
                                       "192.0.2.1", "\xc3\xa4",
                                       "\x7f",      "\x01",
                                       " x",        "http://c.example"};
  const std::vector<std::string> schemes{"http://", "https://", "http:/", "httpx://", "HTTP://", "http://a.example/"};
  std::string lines, with_blanks;
  unsigned bare = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string line = schemes[random() % schemes.size()];
    for (auto n = random() % 7; n > 0; --n) line += parts[random() % parts.size()];
    bare += is_bare_url(line) ? 1U : 0U;
    lines += line + "\n";
    with_blanks += " " + line + "\n";
  }
  EXPECT_GT(bare, 2'000U);
  const Reading one = read_text(lines, options_for(Format::urls));
  const Reading other = read_text(with_blanks, options_for(Format::urls));
  EXPECT_EQ(one.sink.story, other.sink.story);
  EXPECT_EQ(one.report.taken, other.report.taken);
  EXPECT_EQ(one.report.unusable, other.report.unusable);
}

class UrlsWithAliases : public testing::TestWithParam<Row> {};
TEST_P(UrlsWithAliases, AreRead) {
  ReadOptions options = options_for(Format::urls);
  options.path_info = options.index_files = true;
  expect_row(GetParam(), options);
}
INSTANTIATE_TEST_SUITE_P(Rules, UrlsWithAliases,
                         testing::Values(Row{"AFile", "http://a.example/b/c.php\n",
                                             "U a.example/b/c.php, D a.example/b/c.php/"},
                                         Row{"AFileWithQuery", "http://a.example/c.php?d\n", "Q a.example/c.php?d"},
                                         Row{"NoFile", "http://a.example/b\nhttp://a.example/.b\nhttp://a.example/b.\n",
                                             "U a.example/b, U a.example/.b, U a.example/b."},
                                         Row{"AFolder", "http://a.example/b.c/\n", "D a.example/b.c/"},
                                         Row{"ADotInAFolder", "http://a.example/b.c/d\n", "U a.example/b.c/d"},
                                         Row{"AnIndexFile", "http://a.example/b/index.html\n",
                                             "U a.example/b/index.html, D a.example/b/index.html/, U a.example/b"},
                                         Row{"AnIndexFileOfTheRoot", "http://a.example/default.aspx\n",
                                             "U a.example/default.aspx, D a.example/default.aspx/, U a.example/"}),
                         row_name);

}  // namespace
}  // namespace bloomwall::filter::test
