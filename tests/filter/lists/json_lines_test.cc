// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/json_lines.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

ReadOptions with_ranges(const char* column = "") {
  ReadOptions options;
  options.allow_wide_ranges = true;  // the sink takes ranges then
  options.csv_column = column;
  return options;
}

class JsonLines : public testing::TestWithParam<Row> {};
TEST_P(JsonLines, AreRead) { expect_row(GetParam(), with_ranges()); }
INSTANTIATE_TEST_SUITE_P(
    Rules, JsonLines,
    testing::Values(
        Row{"Drop",
            "{\"cidr\":\"192.0.2.0/24\",\"sblid\":\"SBL1\",\"rir\":\"apnic\"}\n"
            "{\"cidr\":\"198.51.100.7/32\",\"sblid\":\"SBL2\",\"rir\":\"arin\"}\n"
            "{\"type\":\"metadata\",\"timestamp\":1786000000,\"size\":99,\"records\":2,\"copyright\":\"(c)\"}\n",
            "N 192.0.2.0/24, N 198.51.100.7/32, boilerplate"},
        Row{"DropOfIpv6", "{\"cidr\":\"2001:db8::/32\",\"sblid\":\"SBL1\"}\n\n# why\n",
            "N [2001:db8::]/32, blank, comment"},
        Row{"Urls", "{\"url\":\"http://a.test/x\",\"id\":1}\n{\"url\":\"http://b.test/y\"}\n",
            "U a.test/x, U b.test/y"},
        Row{"Escapes", "{\"url\":\"http:\\/\\/a.test\\/\\u0078\"}\n{\"url\":\"hxxp://b[.]test/y\"}\n",
            "U a.test/x, U b.test/y, warn: defanged, taken as the host or URL that is meant"},
        Row{"MarkAndCarriageReturns", "\xef\xbb\xbf{\"cidr\":\"192.0.2.0/24\"}\r\n{\"cidr\":\"198.51.100.0/24\"}\r\n",
            "N 192.0.2.0/24, N 198.51.100.0/24"},
        Row{"RecordsThatAreNone",
            "{\"cidr\":\"192.0.2.0/24\"}\n{\"cidr\":\"192.0.3.0/24\"}\n{\"cidr\":\"192.0.4.0/"
            "24\"}\n{\"cidr\":\"192.0.5.0/24\"}\n"
            "{\"cidr\":\"192.0.6.0/24\"}\n{\"cidr\":\"192.0.7.0/24\"}\n{\"cidr\":\"192.0.8.0/"
            "24\"}\n{\"cidr\":\"192.0.9.0/24\"}\n"
            "{\"cidr\":\"a.test\"}\n{\"cidr\":\"\"}\n{\"cidr\":7}\n",
            "N 192.0.2.0/24, N 192.0.3.0/24, N 192.0.4.0/24, N 192.0.5.0/24, N 192.0.6.0/24, N 192.0.7.0/24, "
            "N 192.0.8.0/24, N 192.0.9.0/24, bad: field that is no text, bad: neither an address nor a range of "
            "addresses, "
            "bad: no host"}),
    row_name);

TEST(JsonFeed, ReadsTheFieldThatIsAskedFor) {
  const std::string text =
      "{\"asn\":1,\"domain\":\"a.com\",\"cc\":\"US\"}\n{\"asn\":2,\"domain\":\"b.com\",\"cc\":\"DE\"}\n";
  const std::string refused = read_text(text, with_ranges()).error;
  EXPECT_THAT(refused, testing::HasSubstr("the fields \"cc\", \"domain\""));
  EXPECT_THAT(refused, testing::HasSubstr("--csv-column"));
  EXPECT_EQ(describe(read_text(text, with_ranges("domain"))), "S a.com, S b.com");
  EXPECT_THAT(read_text(text, with_ranges("host")).error, testing::HasSubstr("none of which is --csv-column host"));
}

TEST(JsonFeed, LaterLinesThatAreNoRecordsCount) {
  std::string text;
  for (int i = 0; i < 1100; ++i) text += "{\"cidr\":\"192.0.2.0/24\"}\n";
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  const Reading reading = read_text(
      text + "{\"cidr\":\n[1]\nnull\na.test\n{\"sblid\":\"x\"}\n{\"cidr\":\"192.0.2.0/24\",\"x\":" + deep + "}\n",
      with_ranges());
  EXPECT_EQ(reading.report.malformed.count("not a JSON object"), 5U);
  EXPECT_EQ(reading.report.malformed.count("record without the field"), 1U);
  EXPECT_EQ(reading.report.format, Format::json_lines);
  expect_sums(reading);
}

// A line of many that is cut or wrong is named among those that are not taken; it makes no error message of the list.
TEST(JsonFeed, OneOfItsFirstLinesMayBeBroken) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += fmt::format("{{\"url\":\"http://a.test/{}\"}}\n{}", i, i == 7 ? "{\"url\":\n" : "");
  const Reading reading = read_text(text, with_ranges());
  ASSERT_EQ(reading.error, "");
  EXPECT_EQ(reading.report.format, Format::json_lines);
  EXPECT_EQ(reading.report.taken, 40U);
  EXPECT_EQ(reading.report.malformed.count("not a JSON object"), 1U);
  for (const std::string& few : {std::string("{\"cidr\":\"192.0.2.0/24\"}\n{\"cidr\":\n"), "{\n" + text}) {
    EXPECT_NE(read_text(few, with_ranges()).error, "") << few.substr(0, 60);
  }
}

TEST(JsonFeed, StatesItsNumberOfRecords) {
  const FileReport report =
      read_text("{\"cidr\":\"192.0.2.0/24\"}\n{\"type\":\"metadata\",\"records\":4}\n", with_ranges()).report;
  EXPECT_EQ(report.stated.count, 4U);
  EXPECT_EQ(report.missing_of_stated(), 3U);
}

TEST(JsonFeed, AnErrorMessageIsNoList) {
  for (const char* text : {"{\"message\":\"Not Found\",\"documentation_url\":\"https://docs.test/rest\"}", "{}",
                           "{\"error\":\"gone\",\"url\":\"http://a.test/\"}\n", "{\n \"cidr\": \"192.0.2.0/24\"\n}\n",
                           "[{\"cidr\":\"192.0.2.0/24\"}]\n"}) {
    EXPECT_THAT(read_text(text, with_ranges()).error, testing::HasSubstr("error message")) << text;
  }
}

}  // namespace
}  // namespace bloomwall::filter::test
