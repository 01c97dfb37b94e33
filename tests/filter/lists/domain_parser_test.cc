// SPDX-License-Identifier: Apache-2.0
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

class PlainDomains : public testing::TestWithParam<Row> {};
TEST_P(PlainDomains, AreTaken) { expect_row(GetParam(), options_for(Format::domains)); }
INSTANTIATE_TEST_SUITE_P(
    Rules, PlainDomains,
    testing::Values(
        Row{"NameIsSuffix", "example.com\n", "S example.com"},
        Row{"CaseAndTrailingDotGo", "EXAMPLE.Com.\n", "S example.com"},
        Row{"LastLineNeedsNoEnd", "example.com", "S example.com"},
        Row{"CarriageReturnGoes", "example.com\r\n\r\n", "S example.com, blank"},
        Row{"ByteOrderMarkGoes",
            "\xef\xbb\xbf"
            "example.com\n",
            "S example.com"},
        Row{"BlanksAround", " \texample.com \n  \n", "S example.com, blank"},
        Row{"HashComment", "# example.com\n#example.com\n", "comment x2"},
        Row{"OtherComments", "; a\n! b\n// c\n", "comment x3"},
        Row{"CommentAfterName", "example.com # why\n", "S example.com"},
        Row{"EveryCommentAfterName", "a.example ; b\nc.example\t// d\ne.example ! f\n",
            "S a.example, S c.example, S e.example"},
        Row{"RangeOfOneIsTheAddress", "192.0.2.1/32\n2001:db8::1/128\n192.0.2.2-192.0.2.2\n",
            "X 192.0.2.1, X [2001:db8::1], X 192.0.2.2"},
        Row{"HashInsideWordIsNoComment", "exam#ple.com\n", "bad: octets that no host has"},
        Row{"CosmeticRuleIsNoComment", "a.example##.ad\na.example#@#.ad\na.example#$?#x\n",
            "bad: octets that no host has x3"},
        Row{"PortGoes", "example.com:8080\nexample.net:443\n",
            "S example.com, S example.net, warn: port taken off, taken as the whole host"},
        Row{"CountryWithoutARule", "za\n*.ZA\nx.co.za\n", "S x.co.za, skip: top-level domain x2"},
        Row{"LeadingDotIsSuffix", ".example.com\n", "S example.com"},
        Row{"StarDotIsSuffix", "*.example.com\n", "S example.com"},
        Row{"Underscore", "_dmarc.example.com\n", "S _dmarc.example.com"},
        Row{"HyphensOfOthers", ".-a.example.com\na-.b.example.com\n", "S -a.example.com, S a-.b.example.com"},
        Row{"NameOfAColumn", "Domain\na.example\n", "S a.example, boilerplate, warn: name of a column, left out"},
        Row{"Ipv4IsExact", "192.0.2.1\n", "X 192.0.2.1"}, Row{"Ipv6IsExact", "2001:DB8::1\n", "X [2001:db8::1]"},
        Row{"Ipv6InBrackets", "[2001:db8::1]\n", "X [2001:db8::1]"},
        Row{"DottedAddressIsExact", ".192.0.2.1\n", "X 192.0.2.1"},
        Row{"SingleLabelIsTaken", "intranet\n", "S intranet"},
        Row{"TopLevelDomainIsSkipped", "zip\n*.zip\ncom\n", "skip: top-level domain x3"},
        Row{"PublicSuffixIsTakenWithWarning", "github.io\n", "S github.io, warn: public suffix"},
        Row{"InternationalName",
            "b\xc3\xbc"
            "cher.example\n",
            "S xn--bcher-kva.example"},
        Row{"PunycodeStays", "xn--bcher-kva.example\n", "S xn--bcher-kva.example"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, PlainDomains,
    testing::Values(
        Row{"AddressRange", "192.0.2.0/24 ; SBL1\n2001:db8::/32\n192.0.2.0 - 192.0.2.9\n", "skip: address range x3"},
        Row{"AddressRangeThatIsNone", "192.0.2.1/24\n10/8\n192.0.2.0/33\n",
            "skip: address range, bad: address range whose address can't be read, bad: prefix longer than the address"},
        Row{"CarriageReturnInside", "a.example\rb.example\r\n# c\rd.example\n",
            "bad: carriage return inside the line x2"},
        Row{"ByteOrderMarkInside",
            "a.example\xef\xbb\xbf"
            "b.example\n",
            "bad: byte order mark inside the line"},
        Row{"LongLabel", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example\n",
            "bad: host that no request can have"},
        Row{"WildcardInside", "ad*.example.com\n", "skip: wildcard inside a host"},
        Row{"NoPort", "example.com:80800\nexample.com:x\n", "bad: text behind a colon that is no port x2"},
        Row{"Url", "http://example.com/a\n", "bad: URL where a host is expected"},
        Row{"Path", "example.com/a\n", "bad: path where a host is expected"},
        Row{"Words", "example.com example.net\n", "bad: several words where a host is expected"},
        Row{"AdblockRule", "||example.com^\n", "bad: octets that no host has"},
        Row{"BadAddress", "192.0.2.256\n", "bad: host ends in a number but is not an IPv4 address"},
        Row{"Numbers", "85285\n1.2.3\n10.1\n010.001.002.003\n0x7f000001\n*.1.2.3\n",
            "bad: host ends in a number but is not an IPv4 address x6"},
        Row{"LinesOfADiff", "-a.example.com\n+c.example\n-b.example\n",
            "bad: begins with a hyphen, as a line of a diff does x2, bad: host that no request can have"},
        Row{"LinesOfAUnifiedDiff", "--- old\n+++ new\n@@ -1,2 +1 @@\n-a.example.com\n",
            "bad: begins with a hyphen, as a line of a diff does x2, bad: several words where a host is expected x2"},
        Row{"HyphenOfARegisteredName", "a.b-.com\n.-c.com\n-d.com\n",
            "bad: hyphen at the edge of a registered name x3"},
        Row{"Mail", "me@example.com\n", "bad: octets that no host has"},
        Row{"NetblockThatDisagrees", "192.0.2.0 192.0.2.255 23 x\n",
            "bad: first address, last address and prefix that do not agree"},
        Row{"DotsAlone", "...\n", "bad: leading or doubled dots in the host"},
        Row{"NulOctet", std::string_view("exa\0mple.com\nexample.net\n", 25),
            "refused: list: is not a list but binary data"}),
    row_name);

TEST(PlainDomainsOptions, ExactMakesBareNamesExactHosts) {
  ReadOptions options = options_for(Format::domains);
  options.exact = true;
  expect_row({"", "example.com\n.example.net\n*.example.org\n192.0.2.1\n",
              "X example.com, S example.net, S example.org, X 192.0.2.1"},
             options);
}

TEST(PlainDomainsOptions, AllowTldTakesThem) {
  ReadOptions options = options_for(Format::domains);
  options.allow_tld = true;
  const Reading reading = read_text("zip\nintranet\n*.mov\n", options);
  EXPECT_EQ(describe(reading), "S zip, S intranet, S mov");
  EXPECT_EQ(reading.report.tlds_taken, 2U);
  EXPECT_EQ(reading.report.single_label, 3U);
}

TEST(PlainDomainsOptions, SquidguardDomainsAreSuffixesWhateverExactSays) {
  ReadOptions options = options_for(Format::squidguard_domains);
  options.exact = true;
  expect_row({"", "example.com\n192.0.2.1\n.example.net\n", "S example.com, X 192.0.2.1, S example.net"}, options);
}

TEST(WildcardLists, StarMeansTheDomainToo) {
  expect_row({"", "*.example.com\nexample.net\n*.192.0.2.1\n*.*.example.com\n*\n",
              "S example.com, S example.net, X 192.0.2.1, skip: wildcard inside a host x2"},
             options_for(Format::wildcard));
}

TEST(WildcardLists, StrictWildcardLeavesTheDomainOut) {
  ReadOptions options = options_for(Format::wildcard);
  options.strict_wildcard = true;
  expect_row({"", "*.example.com\nexample.net\n.example.org\n", "W example.com, S example.net, S example.org"},
             options);
}

TEST(PlainDomains, ALineOver64KiBIsSkippedAndTheNextOneIsNot) {
  const std::string text = "a.example\n" + std::string(kMaxLineBytes + 1, 'x') + ".example\nb.example\n" +
                           std::string(3 * kInputChunkBytes, 'y') + "\nc.example\n";
  const Reading reading = read_text(text, options_for(Format::domains));
  EXPECT_EQ(describe(reading), "S a.example, S b.example, S c.example, bad: line over 64 KiB x2");
  EXPECT_EQ(reading.sink.lines, (std::vector<std::uint64_t>{1, 3, 5}));
}

TEST(PlainDomains, AStrayNulSpoilsItsLineAlone) {
  std::string text;
  while (text.size() <= 1000) text += "filler.example\n";
  text += std::string("exa\0mple.com\n", 13) + "last.example\n";
  const Reading reading = read_text(text, options_for(Format::domains));
  EXPECT_EQ(reading.report.malformed.count("NUL octets"), 1U);
  EXPECT_EQ(reading.report.unusable, 1U);
  EXPECT_EQ(reading.sink.entries.back(), "S last.example");
}

}  // namespace
}  // namespace bloomwall::filter::test
