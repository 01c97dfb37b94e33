// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "filter/lists/line_shape.h"
#include "filter/lists/list_format.h"

namespace bloomwall::filter::test {
namespace {

struct DetectCase {
  const char* rule;
  std::string_view path;
  std::string text;
  Format want;
};
void PrintTo(const DetectCase& row, std::ostream* out) { *out << row.rule; }

class Detection : public testing::TestWithParam<DetectCase> {};
TEST_P(Detection, TellsTheFormat) {
  const auto format = detect_format(GetParam().text, GetParam().path);
  ASSERT_TRUE(format) << format.error().text();
  EXPECT_STREQ(to_string(*format), to_string(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Detection,
    testing::Values(
        DetectCase{"PlainDomains", "x", "a.example\nb.example\n", Format::domains},
        DetectCase{"DottedDomains", "x", ".a.example\n.b.example\n", Format::domains},
        DetectCase{"Addresses", "x", "192.0.2.1\n192.0.2.2\n2001:db8::1\n", Format::domains},
        DetectCase{"Nothing", "x", "", Format::domains},
        DetectCase{"CommentsOnly", "x", "# a\n\n# b\n", Format::domains},
        DetectCase{"BannerOfHashesIsNotCosmetic", "x", "##########\n# a list\n##########\na.example\nb.example\n",
                   Format::domains},
        DetectCase{"Hosts", "x", "# a\n0.0.0.0 a.example\n127.0.0.1\tb.example\n::1 localhost\n", Format::hosts},
        DetectCase{"HostsWithASinkOfTheirOwn", "x", "192.0.2.53 a.example\n192.0.2.53 b.example\n", Format::hosts},
        DetectCase{"HostsWithAFewOfTheLan", "x",
                   "127.0.0.1 localhost\n127.0.1.1 pc.example.org pc\n192.168.1.10 nas.example.org\n0.0.0.0 a.example\n"
                   "0.0.0.0 b.example\n0.0.0.0 c.example\n0.0.0.0 d.example\n0.0.0.0 e.example\n0.0.0.0 f.example\n"
                   "0.0.0.0 g.example\n",
                   Format::hosts},
        DetectCase{"Netblocks", "x", "192.0.2.0\t192.0.2.255\t24\t5212\tX\n198.51.100.0\t198.51.100.255\t24\t4410\tY\n",
                   Format::networks},
        DetectCase{"Wildcard", "x", "*.a.example\n*.b.example\nc.example\n", Format::wildcard},
        DetectCase{"FewWildcardsAmongDomains", "x", "*.a.example\nb.example\nc.example\n", Format::domains},
        DetectCase{"AdblockByTitle", "x", "[Adblock Plus 2.0]\na.example\nb.example\n", Format::adblock},
        DetectCase{"AdblockByCommentTitle", "x", "! Title: x\n192.0.2.1\na.example.com\n||b.example^\n",
                   Format::adblock},
        DetectCase{"AdblockByMajority", "x", "||a.example^\n||b.example^\nc.example.com\n", Format::adblock},
        DetectCase{"AdblockCosmetic", "x", "##.ad\na.example##.ad\n@@||b.example^\n", Format::adblock},
        DetectCase{"AdblockWithRulesForPages", "x", "||a.example^\n||b.example^\nc.example#%#//scriptlet('x')\n",
                   Format::adblock},
        DetectCase{"AdblockWithAPattern", "x", "||a.example^\n||b.example^\nhttp://c.example/ad*\n", Format::adblock},
        DetectCase{"AdblockWithAPatternOfNames", "x", "||a.example^\n||b.example^\n*.gif\n", Format::adblock},
        DetectCase{"UrlWithHashHashIsAUrl", "x", "http://a.example/##b\nhttp://c.example/d\n", Format::urls},
        DetectCase{"Dnsmasq", "x", "address=/a.example/#\nserver=/b.example/\nlocal=/c.example/\n", Format::dnsmasq},
        DetectCase{"Unbound", "x", "server:\nlocal-zone: \"a.example.\" always_null\nlocal-zone: \"b.example.\" deny\n",
                   Format::unbound},
        DetectCase{
            "UnboundViews", "x",
            "view:\n name: \"v\"\n local-zone: a.example static\n local-zone: b.example static\n local-zone: c.example "
            "static\n local-zone: d.example static\n local-zone: e.example static\n local-zone: f.example static\n"
            " local-zone: g.example static\n local-zone: h.example static\n local-zone: i.example static\n local-zone: "
            "j.example static\n local-zone: k.example static\n local-zone: l.example static\n",
            Format::unbound},
        DetectCase{"RpzByTtl", "x", "$TTL 300\na.example CNAME .\n", Format::rpz},
        DetectCase{"RpzBySoa", "x", "@ IN SOA a. b. (\n 1 2\n 3 4 5 )\na.example CNAME .\n*.a.example CNAME .\n",
                   Format::rpz},
        DetectCase{"RpzByMajority", "x", "a.example CNAME .\n*.a.example 300 IN CNAME .\n", Format::rpz},
        DetectCase{"Urls", "x", "http://a.example/b\nhttps://c.example/\n", Format::urls},
        DetectCase{"DomainsAndUrls", "x", "a.example\nhttp://b.example/c/\n*.d.example\n.e.example\n192.0.2.1\n",
                   Format::urls},
        DetectCase{"SegmentsThatBeginWithASeparator", "x",
                   "http://a.example/x/,a\nhttp://b.example/;x\nhttp://c.example/|x\n", Format::urls},
        DetectCase{"OneSegmentThatBeginsWithAComma", "x", "http://a.example/x/,a\n", Format::urls},
        DetectCase{"UrlsWithCommas", "x",
                   "http://a.example/b,c\nhttps://c.example/,\nhttp://a.example/\nhttp://d.example/\n", Format::urls},
        DetectCase{"CsvWithoutSchemes", "x", "url,date\nevil1.example/a,2020\nevil2.example/a,2020\n", Format::csv},
        DetectCase{"NameUrlsButCsv", "/lists/urls", "2019/01/02 10:00,http://evil1.example/x,Brand\n", Format::csv},
        DetectCase{"Mixed", "x", "a.example\n||b.example^\na.example/x/\n0.0.0.0 c.example\naddress=/d.example/#\n",
                   Format::mixed},
        DetectCase{"HalfAndHalf", "x", "a.example\n0.0.0.0 b.example\nc.example\n0.0.0.0 d.example\n", Format::mixed},
        DetectCase{"AdblockHostsAndNames", "x", "||a.test^\n||b.test^\n||c.test^\nd.nosuchtld\n", Format::mixed},
        DetectCase{"TitleAndNames", "x", "! Title: x\na.example # why\n*.b.example\nc.example\n", Format::domains},
        DetectCase{"TitleAndWildcards", "x", "! Title: x\n*.a.example\n*.b.example\n", Format::wildcard},
        DetectCase{"TitleAndUrls", "x", "! Title: x\nhttp://a.example/b\nhttp://c.example/d\n", Format::urls},
        DetectCase{"TitleAndZones", "x",
                   "! Title: x\nserver:\nlocal-zone: \"a.example.\" always_null\nlocal-zone: \"b.example.\" deny\n",
                   Format::mixed},
        DetectCase{"TitleAndResolver", "x", "! Title: x\naddress=/a.example/#\nserver=/b.example/\n", Format::mixed},
        DetectCase{"TitleWithoutRules", "x", "! Title: x\n0.0.0.0 a.example\n0.0.0.0 b.example\n", Format::hosts},
        DetectCase{"Ranges", "x", "; DROP\n1.10.16.0/20 ; SBL1\n1.19.0.0/16 ; SBL2\n", Format::networks},
        DetectCase{"RangesWithDashes", "x", "192.0.2.0 - 192.0.2.9\n198.51.100.0-198.51.100.9\n", Format::networks},
        DetectCase{"RangesAndAddresses", "x", "# netset\n192.0.2.1\n192.0.2.2\n198.51.100.0/24\n2001:db8::1\n",
                   Format::networks},
        DetectCase{"IpFilter", "x",
                   "001.000.001.000 - 001.000.003.255 , 100 , X\n001.002.004.000 - 001.002.004.255 , 100 , Y\n",
                   Format::networks},
        DetectCase{"PeerGuardian", "x", "X, Inc.:192.0.2.0-192.0.2.255\nY:198.51.100.0-198.51.100.9\n",
                   Format::networks},
        DetectCase{"WideRanges", "x", "224.0.0.0/3\n192.0.2.1\n", Format::networks},
        DetectCase{"RangesInAFileOfAName", "firehol_level1.netset", "0.0.0.0/8\n10.0.0.0/8\n", Format::networks},
        DetectCase{"AddressesAlone", "x", "192.0.2.1\n192.0.2.2\n2001:db8::1\n", Format::domains},
        DetectCase{"RangesOfOneAddress", "x", "192.0.2.1/32\n192.0.2.2-192.0.2.2\n2001:db8::1/128\n", Format::networks},
        DetectCase{"RangesAndAName", "x", "192.0.2.0/24\n198.51.100.0/24\na.example\n", Format::domains},
        DetectCase{"RangesAndAUrl", "x", "192.0.2.0/24\n198.51.100.0/24\nhttp://a.example/b\n", Format::urls},
        DetectCase{"RangesOfACategory", "/lists/bots/domains", "192.0.2.0/24\n", Format::squidguard_domains},
        DetectCase{"CsvWithHeader", "x", "date,URL,note\n1,http://a.example/b,n\n2,http://c.example/,n\n", Format::csv},
        DetectCase{"CsvWithUrlFirst", "x", "url,id\nhttp://a.example/b,1\nhttp://c.example/,2\n", Format::csv},
        DetectCase{"CsvQuoted", "x", "\"1\",\"http://a.example/b\"\n\"2\",\"http://c.example/\"\n", Format::csv},
        DetectCase{"CsvHeaderInAComment", "x", "# id,url\n1,http://a.example/b\n", Format::csv},
        DetectCase{"CommentsWithCommasAndUrls", "x", "a.test # kit, https://r.test/1\nb.test # kit, https://r.test/2\n",
                   Format::domains},
        DetectCase{"SemicolonCommentsWithUrls", "x",
                   "a.test ; kit; https://r.test/, x\nb.test ; kit; https://r.test/, x\n", Format::domains},
        DetectCase{"OtherCommentsWithUrls", "x", "a.test ! kit, https://r.test/\nb.test // kit, https://r.test/\n",
                   Format::domains},
        DetectCase{"WildcardsWithCommentsWithUrls", "x",
                   "*.a.test # 2026, https://r.test/\n*.b.test # 2026, https://r.test/\n", Format::wildcard},
        DetectCase{"AddressesWithCommentsWithUrls", "x",
                   "192.0.2.1 # scan, https://r.test/\n192.0.2.2 # scan, https://r.test/\n", Format::domains},
        DetectCase{"PathsWithCommentsWithUrls", "x",
                   "a.test/x # kit, https://r.test/\nb.test/x # kit, https://r.test/\n", Format::urls},
        DetectCase{"UrlsWithCommentsWithUrls", "x",
                   "http://a.test/x # kit, https://r.test/\nhttp://b.test/x # kit, url\n", Format::urls},
        DetectCase{"CommentsWithWordsOfZones", "x", "a.test # CNAME cloaking\nb.test # a SOA record\nc.test ; no SOA\n",
                   Format::domains},
        DetectCase{"CommentsWithHashes", "x", "a.test ## phishing\nb.test # #@# phishing\n", Format::domains},
        DetectCase{"CommentThatIsAHeaderElsewhere", "x", "# domain,url\na.test # a,b\nb.test # c,d\n", Format::domains},
        DetectCase{"RpzWithCommentsWithUrls", "x", "a.test CNAME . ; see, https://r.test/\nb.test CNAME . ; see, x\n",
                   Format::rpz},
        DetectCase{"PathsWithoutASchemeAreUrls", "x", "a.example/b\nc.example/d/\n192.0.2.1/e\n", Format::urls},
        DetectCase{"OneSectionAmongUrls", "x",
                   "http://a.test/x\nhttp://b.test/x\n{+block{x}}\nhttp://c.test/x\nhttp://d.test/x\n", Format::urls},
        DetectCase{"OneOriginAmongDomains", "x", "a.test\nb.test\n$ORIGIN x.\nc.test\nd.test\n", Format::domains},
        DetectCase{"OneTtlAmongHosts", "x", "0.0.0.0 a.test\n0.0.0.0 b.test\n$TTL 300\n0.0.0.0 c.test\n",
                   Format::hosts},
        DetectCase{"Privoxy", "x", "{+block{x}}\n.a.example\n/path\n{-block}\n.b.example\n", Format::privoxy},
        DetectCase{"NameDomains", "/lists/malware/domains", "a.example\n", Format::squidguard_domains},
        DetectCase{"NameUrls", "/lists/malware/urls.gz", "a.example/b\n", Format::squidguard_urls},
        DetectCase{"NameUrlsButFullUrls", "/lists/urls", "http://a.example/b\n", Format::urls},
        DetectCase{"NameDomainsButHosts", "/lists/domains", "0.0.0.0 a.example\n", Format::hosts},
        DetectCase{"NameExpressions", "/lists/malware/expressions", "a|b\n", Format::squidguard_expressions},
        DetectCase{
            "NineInTen", "x",
            "a.example\nb.example\nc.example\nd.example\ne.example\nf.example\ng.example\nh.example\ni.example\na b\n",
            Format::domains},
        DetectCase{"ABarInOneOfFour", "x", "a.example\nb.example\ny|z\nc.example\n", Format::domains},
        DetectCase{"ABarInOneOfThreeUrls", "x", "http://a.example/b\nhttp://a.example/y|z\nhttp://c.example/\n",
                   Format::urls},
        DetectCase{"ARuleOfAnotherKindInOneOfFour", "x", "a.example\nb.example\n||y|z^\nc.example\n", Format::domains},
        DetectCase{"ABarInOneOfFiveMixed", "x", "a.example\n||b.example^\n0.0.0.0 c.example\ny|z\nd.example\n",
                   Format::mixed},
        DetectCase{"ABarAmongRanges", "x", "192.0.2.0/24\n198.51.100.1\n198.51.100.2\ny|z\n", Format::networks},
        DetectCase{"CarriageReturns", "x", "0.0.0.0 a.example\r\n0.0.0.0 b.example\r\n", Format::hosts}),
    [](const testing::TestParamInfo<DetectCase>& row) { return std::string(row.param.rule); });

class NoDetection : public testing::TestWithParam<DetectCase> {};
TEST_P(NoDetection, AsksForTheFormat) {
  const auto format = detect_format(GetParam().text, GetParam().path);
  ASSERT_FALSE(format) << to_string(*format);
  EXPECT_EQ(format.error().code, Errc::usage);
  EXPECT_EQ(format.error().where, GetParam().path);
  EXPECT_NE(format.error().what.find("--format"), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, NoDetection,
    testing::Values(
        DetectCase{"Prose", "x", "This is no list.\nIt has words.\n", Format::auto_detect},
        DetectCase{"UrlThenText", "x", "http://a.example/x\tphish\nhttp://b.example/x\tphish\n", Format::auto_detect},
        DetectCase{"CsvWithoutHeader", "x", "http://a.example/x,2020,online\nhttp://b.example/x,2020,online\n",
                   Format::auto_detect},
        DetectCase{"CsvWithUnknownHeader", "x", "phish_url,date\nhttp://a.example/x,2020\nhttp://b.example/x,2020\n",
                   Format::auto_detect},
        DetectCase{"Semicolons", "x", "http://a.example/x;2020\nhttp://b.example/x;2020\nhttp://c.example/x;2020\n",
                   Format::auto_detect},
        DetectCase{"CsvWithoutSchemeOrHeader", "x", "a.example/x,2020\nb.example/x,2020\n", Format::auto_detect},
        DetectCase{"HeaderThatDoesNotFit", "x", "# url,date\nhttp://e.example/x,y\nhttp://e2.example/x\n",
                   Format::auto_detect},
        DetectCase{"NameSaysCsv", "x.csv", "http://a.example/x\nhttp://b.example/x,y\nhttp://c.example/x\n",
                   Format::auto_detect},
        DetectCase{"OneInTwo", "x", "a.example\na b\n", Format::auto_detect},
        DetectCase{"FiveInTwelve", "x",
                   "a.example\nb.example\nc.example\nd.example\ne.example\nf.example\ng.example\na b\nc d\ne f\ng h\n"
                   "i j\n",
                   Format::auto_detect},
        DetectCase{"TwoInFive", "x", "a.example\nb.example\nc.example\na|b\nc|d\n", Format::auto_detect},
        DetectCase{"BarsInAllLines", "x", "a.example|1\nb.example|2\nc.example|3\n", Format::auto_detect},
        DetectCase{"CsvOfDomainsAndReferences", "x", "a.test,https://r.test/1\nb.test,https://r.test/2\n",
                   Format::auto_detect},
        DetectCase{"CsvOfTwoUrls", "x", "1,http://a.test/x,http://r.test/1\n2,http://b.test/x,http://r.test/2\n",
                   Format::auto_detect},
        DetectCase{"RuleSets", "x", "DOMAIN-SUFFIX,a.example\nDOMAIN,b.example\n", Format::auto_detect},
        DetectCase{"AddressesWithCounts", "x", "192.0.2.1\t10\n192.0.2.2\t9\n", Format::auto_detect},
        DetectCase{"AddressesWithCountries", "x", "192.0.2.1 US\n192.0.2.2 CN\na.example\n", Format::auto_detect},
        DetectCase{"AddressesWithNames", "x",
                   "192.0.2.1 a.isp.example\n192.0.2.2 b.isp.example\n192.0.2.3 c.isp.example\n", Format::auto_detect},
        DetectCase{"AddressesWithText", "x", "192.0.2.1 - scan\n192.0.2.2 - mirai.x\n", Format::auto_detect},
        DetectCase{"FirstAndLastAddress", "x", "192.0.2.0 192.0.2.255\n198.51.100.0 198.51.100.127\n",
                   Format::auto_detect},
        DetectCase{"AddressAndMask", "x", "192.0.2.0 255.255.255.0\n198.51.100.0 255.255.255.128\n",
                   Format::auto_detect},
        DetectCase{"RangesWithColumns", "x", "1.10.16.0/20\tSBL1\n1.19.0.0/16\tSBL2\n", Format::auto_detect},
        DetectCase{"SingleWord", "x", "Forbidden\n", Format::auto_detect},
        DetectCase{"SingleNumber", "x", "404\n", Format::auto_detect},
        DetectCase{"NumbersOfNetworks", "x", "AS1001 ; X | RU\nAS1002 ; Y | RU\n", Format::auto_detect},
        DetectCase{"Sums", "x", "5d41402abc4b2a76b9719d911017c592\n7d793037a0760186574b0282f2f435e7\n",
                   Format::auto_detect},
        DetectCase{"Versions", "x", "1.1.0\n1.2.0\n", Format::auto_detect},
        DetectCase{"PlainTextErrorPage", "x", "404: Not Found\n", Format::auto_detect}),
    [](const testing::TestParamInfo<DetectCase>& row) { return std::string(row.param.rule); });

TEST(Detection, LooksAtTheFirstThousandLinesOnly) {
  std::string text;
  for (std::size_t i = 0; i < kSampleLines; ++i) text += "a" + std::to_string(i) + ".example\n";
  for (std::size_t i = 0; i < 3 * kSampleLines; ++i) text += "0.0.0.0 a.example\n";
  EXPECT_EQ(detect_format(text, "x").value_or(Format::auto_detect), Format::domains);
}

TEST(Formats, HaveNamesThatReadBack) {
  for (const Format format : kFormats) EXPECT_EQ(parse_format(to_string(format)), format);
  EXPECT_EQ(parse_format("nonsense"), std::nullopt);
  EXPECT_EQ(parse_format(""), std::nullopt);
  EXPECT_EQ(kFormats.size(), static_cast<std::size_t>(Format::json_lines) + 1);
}

struct Foreign {
  const char* rule;
  std::string_view bytes;
  std::string_view what;  // part of the message; empty: taken for a list
};
void PrintTo(const Foreign& row, std::ostream* out) { *out << row.rule; }
class ForeignFiles : public testing::TestWithParam<Foreign> {};
TEST_P(ForeignFiles, AreRefused) {
  const auto verdict = refuse_foreign(GetParam().bytes, "some/list");
  if (GetParam().what.empty()) {
    EXPECT_TRUE(verdict) << verdict.error().text();
    return;
  }
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().where, "some/list");
  EXPECT_EQ(verdict.error().code, Errc::bad_syntax);
  EXPECT_NE(verdict.error().what.find(GetParam().what), std::string::npos) << verdict.error().what;
}
INSTANTIATE_TEST_SUITE_P(
    Rules, ForeignFiles,
    testing::Values(
        Foreign{"Html", "<!DOCTYPE html>\n<html>", "HTML"}, Foreign{"HtmlAfterBlanks", "\r\n\n  <HTML><head>", "HTML"},
        Foreign{"HtmlWithoutDoctype", "<head><title>502 Bad Gateway", "HTML"}, Foreign{"Xml", "<?xml version=", "XML"},
        Foreign{"JsonObject", "{\"message\": \"Not Found\"}", "JSON"},
        Foreign{"JsonPretty", "{\n  \"error\": 1 }", "JSON"},
        Foreign{"JsonArray", "[{\"url\":\"http://a.example\"}]", "JSON"}, Foreign{"JsonEmpty", "{}", "JSON"},
        Foreign{"Pac", "// x\nfunction FindProxyForURL(url, host) {", "auto-configuration"},
        Foreign{"PacWithBlank", "function FindProxyForURL (url, host)", "auto-configuration"},
        Foreign{"Nul", std::string_view("a.example\n\0", 11), "binary"}, Foreign{"Zip", "PK\x03\x04zzz", "zip"},
        Foreign{"CompressedTwice", "\x1f\x8b\x08zzz", "twice"},
        Foreign{"Utf16WithoutItsMark", std::string_view("a\0.\0b\0\n\0", 8), "UTF-16"},
        Foreign{"Utf32",
                std::string_view("\xff\xfe\0\0"
                                 "a\0\0\0",
                                 8),
                "UTF-32"},
        Foreign{"Utf32BigEndian", std::string_view("\0\0\xfe\xff\0\0\0a", 8), "UTF-32"},
        Foreign{"JsonLines", "{\"url\":\"http://a.example/\"}\n", "not read as a list"},
        Foreign{"Pdf", "%PDF-1.7", "PDF"}, Foreign{"Bzip2", "BZh91AY", "bzip2"}, Foreign{"Empty", "", ""},
        Foreign{"PrivoxySection", "{+block{x}}\n.a.example\n", ""}, Foreign{"PrivoxySettings", "{{alias}}\n", ""},
        Foreign{"PrivoxyBlank", "{ \\\n+block \\\n}\n", ""}, Foreign{"AdblockTitle", "[Adblock Plus 2.0]\n", ""},
        Foreign{"Ipv6InBrackets", "[2001:db8::1]\n", ""},
        Foreign{"FunctionNamedInAComment", "# not FindProxyForURL\na.example\n", ""},
        Foreign{"Utf8",
                "# b\xc3\xbc"
                "cher\n",
                ""}),
    [](const testing::TestParamInfo<Foreign>& row) { return std::string(row.param.rule); });

TEST(ForeignFiles, ATarArchiveIsKnownByItsMark) {
  std::string tar(512, '\0');
  tar.replace(0, 7, "malware");
  tar.replace(257, 5, "ustar");
  const auto verdict = refuse_foreign(tar, "x");
  ASSERT_FALSE(verdict);
  EXPECT_NE(verdict.error().what.find("tar archive"), std::string::npos);
}

}  // namespace
}  // namespace bloomwall::filter::test
