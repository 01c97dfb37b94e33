// Lists that go on in another format than they begin with.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

// More lines than detection looks at.
std::string head_of(std::string_view line, std::size_t lines = 1100) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += fmt::format(fmt::runtime(line), i) + "\n";
  return text;
}

struct TailCase {
  const char* rule;
  std::string_view head;  // one line, with its number at {}
  std::string_view tail;
  std::uint64_t used;  // lines of the tail that gave something
  const char* begins;  // the format that is detected
  const char* others;  // what stands in the report of lines of other formats
};
void PrintTo(const TailCase& row, std::ostream* out) { *out << row.rule; }

std::string tail_name(const testing::TestParamInfo<TailCase>& info) { return info.param.rule; }

std::string others_of(const FileReport& report) {
  std::string text;
  for (const auto& other : report.other_formats.by_count()) append_count(text, other.reason, other.count);
  return text;
}

class Tail : public testing::TestWithParam<TailCase> {};
TEST_P(Tail, IsReadInItsOwnFormat) {
  const TailCase& row = GetParam();
  const std::string text = head_of(row.head) + std::string(row.tail);
  ReadOptions options;
  options.allow_wide_ranges = true;  // the sink takes ranges then
  const Reading reading = read_text(text, options);
  ASSERT_EQ(reading.error, "");
  expect_sums(reading);
  const FileReport& report = reading.report;
  EXPECT_EQ(report.taken + report.allowed - 1100, row.used) << text_of(report);
  EXPECT_EQ(others_of(report), row.others);
  EXPECT_STREQ(to_string(report.other_formats.empty() ? report.format : report.begins_as), row.begins);
  EXPECT_EQ(report.format == Format::mixed, !report.other_formats.empty());
}

constexpr std::string_view kEveryShape =
    "||x.test^\n@@||y.test^\nhttp://z.test/a\n0.0.0.0 h.test\naddress=/d.test/#\nlocal-zone: \"u.test.\" always_null\n"
    "192.0.2.0/24\n*.w.test\n";
INSTANTIATE_TEST_SUITE_P(
    Rules, Tail,
    testing::Values(
        TailCase{"Domains", "h{}.example", kEveryShape, 8, "domains", "adblock x2, dnsmasq, hosts, unbound, urls"},
        TailCase{"Hosts", "0.0.0.0 h{}.example", kEveryShape, 8, "hosts",
                 "adblock x2, dnsmasq, networks, unbound, urls, wildcard"},
        TailCase{"HostsAndNames", "0.0.0.0 h{}.example", "a.test\nb.test # why\n0.0.0.0\n", 2, "hosts", "domains x2"},
        TailCase{"Wildcards", "*.h{}.example", kEveryShape, 8, "wildcard", "adblock x2, dnsmasq, hosts, unbound, urls"},
        TailCase{"Urls", "http://h{}.example/a", kEveryShape, 8, "urls", "adblock x2, dnsmasq, hosts, unbound"},
        TailCase{"Networks", "2001:db8:{:x}::/48", "a.test\n||x.test^\n0.0.0.0 h.test\n", 3, "networks",
                 "adblock, domains, hosts"},
        TailCase{"Dnsmasq", "address=/h{}.example/#", kEveryShape, 8, "dnsmasq",
                 "adblock x2, hosts, networks, unbound, urls, wildcard"},
        TailCase{"Unbound", "local-zone: \"h{}.example\" always_null",
                 "||x.test^\nhttp://z.test/a\n0.0.0.0 h.test\naddress=/d.test/#\na.test\n*.w.test\n", 6, "unbound",
                 "adblock, dnsmasq, domains, hosts, urls, wildcard"},
        TailCase{"Zones", "h{}.example CNAME .", "||x.test^\nhttp://z.test/a\naddress=/d.test/#\na.test\n", 4, "rpz",
                 "adblock, dnsmasq, domains, urls"},
        TailCase{"AdblockHosts", "||h{}.example^",
                 "address=/d.test/#\nlocal-zone: \"u.test.\" always_null\n192.0.2.0/24\n*.w.test\n", 4, "adblock",
                 "dnsmasq, unbound, wildcard"},
        TailCase{"AdblockPiecesStayPieces", "||h{}.example^", ".adx.com/\n-banner-\n/ads/x.js\nadx.lan/x\n", 0,
                 "adblock", ""},
        TailCase{"AdblockPatternsStayPatterns", "||h{}.example^",
                 "http://x.test/ad*\nhttp://x.test/ad^\nhttps://x.test^\nhttp://x.test/ad|\nhttp://x.test/a$script\n"
                 "*.gif\n*.min.js\n",
                 0, "adblock", ""},
        TailCase{"AdblockAndUrls", "||h{}.example^", "ftp://x.test/a\nhttp://x.test/b\n", 2, "adblock", "urls"},
        TailCase{"CosmeticRulesAreNamed", "h{}.example",
                 "a.test##.ad\n||x.test^$script\na.test#%#//x\na.test#$#b{c:url(/d)}\na.test$$p/x\n", 0, "domains",
                 "adblock x5"},
        TailCase{"CosmeticRulesAmongUrls", "http://h{}.example/a",
                 "a.test##.ad\na.test#%#//x\na.test#$#b{c:url(/d)}\na.test#@#a/b\na.test#?#x\na.test$$p/x\n", 0, "urls",
                 ""},
        TailCase{"CosmeticRulesAmongHosts", "0.0.0.0 h{}.example", "a.test#%#//x\na.test#$#b{c:url(/d)}\n", 0, "hosts",
                 "adblock x2"},
        TailCase{"WordsAreOfNoFormat", "0.0.0.0 h{}.example", "banner\nnot a line\n", 0, "hosts", ""},
        TailCase{"RecordsAreNotOpened", "7,http://h{}.example/a", "http://x.test/a\n||y.test^\n", 0, "csv", ""}),
    tail_name);

TEST(Tail, MeansNothingWhereTheFormatIsGiven) {
  const Reading reading = read_text(head_of("h{}.example") + "||x.test^\n", Format::domains);
  EXPECT_EQ(reading.report.unusable, 1);
  EXPECT_TRUE(reading.report.other_formats.empty());
}

// As pipes and blocks have it: the outcome of a line is its own.
TEST(Tail, IsTheSameWhateverTheChunks) {
  const std::string text = head_of("h{}.example", 3000) + std::string(kEveryShape) + head_of("g{}.example", 3000);
  const std::string want = full_story(read_text(text, ReadOptions{}));
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
    EXPECT_EQ(full_story(read_text(text, ReadOptions{}, {}, step)), want);
  }
  EXPECT_NE(want.find("mixed (detected; begins as domains)"), std::string::npos) << want.substr(want.size() - 2000);
}

}  // namespace
}  // namespace bloomwall::filter::test
