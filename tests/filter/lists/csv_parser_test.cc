// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/csv_layout.h"
#include "filter/lists/csv_record.h"
#include "filter/lists/line_parser.h"
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

struct Split {
  const char* rule;
  std::string_view record;
  std::vector<std::string> fields;
  bool open = false, damaged = false;
};
class CsvRecord : public testing::TestWithParam<Split> {};
TEST_P(CsvRecord, IsSplit) {
  CsvWalk walk(GetParam().record);
  std::vector<std::string> fields;
  std::string scratch;
  while (walk.next()) fields.emplace_back(walk.text(scratch));
  EXPECT_EQ(fields, GetParam().fields);
  EXPECT_EQ(walk.quote_open(), GetParam().open);
  EXPECT_EQ(walk.damaged(), GetParam().damaged);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, CsvRecord,
    testing::Values(Split{"Plain", "a,b,c", {"a", "b", "c"}}, Split{"EmptyFields", ",,", {"", "", ""}},
                    Split{"Quoted", R"("a","b, c")", {"a", "b, c"}},
                    Split{"DoubledQuote", R"("a ""b""",c)", {R"(a "b")", "c"}},
                    Split{"EmptyQuoted", R"("","")", {"", ""}}, Split{"BlankBeforeQuote", R"(a, "b")", {"a", "b"}},
                    Split{"QuoteInsideUnquoted", R"(a"b,c)", {R"(a"b)", "c"}}, Split{"Nothing", "", {""}},
                    Split{"LineEndInside", "\"a\nb\",c", {"a\nb", "c"}},
                    Split{"OpenQuote", R"(a,"b,c)", {"a"}, true, false}, Split{"OnlyAQuote", R"(")", {}, true, false},
                    Split{"TextAfterQuote", R"("a"b,c)", {}, false, true}),
    [](const testing::TestParamInfo<Split>& row) { return std::string(row.param.rule); });

class Csv : public testing::TestWithParam<Row> {};
TEST_P(Csv, IsRead) {
  ReadOptions options;
  options.format = Format::csv;
  expect_row(GetParam(), options);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Csv,
    testing::Values(
        Row{"HeaderNamesTheColumn", "id,URL,note\n1,http://a.example/x,n\n", "U a.example/x, boilerplate"},
        Row{"HeaderInAComment", "# id,link,url\n\"1\",\"http://feed.example/1\",\"http://a.example/x\"\n",
            "U a.example/x, comment"},
        Row{"HeaderAgainWithOtherOrder", "url,id\nhttp://a.example/x,1\nid,url\n2,http://b.example/y\n",
            "U a.example/x, U b.example/y, boilerplate x2"},
        Row{"NoHeaderFirstOfEquals",
            "1,http://a.example/x,http://feed.example/1\n2,http://b.example/y,http://feed.example/2\n",
            "U a.example/x, U b.example/y"},
        Row{"NoHeaderMostOften", "http://odd.example/,http://a.example/x\n-,http://b.example/y\n",
            "U a.example/x, U b.example/y"},
        Row{"CommaInUrl", "url,id\n\"http://a.example/x,y\",1\n", "U a.example/x,y, boilerplate"},
        Row{"DoubledQuoteInUrl", "url,id\n\"http://a.example/x\"\"y\",1\n", "U a.example/x\"y, boilerplate"},
        Row{"LineEndInField", "url,note\nhttp://a.example/x,\"one\ntwo\"\nhttp://b.example/y,n\n",
            "U a.example/x, U b.example/y, boilerplate x2"},
        Row{"HashInsideAnOpenField", "url,note\nhttp://a.example/x,\"one\n# two\"\n", "U a.example/x, boilerplate x2"},
        Row{"BareHost", "url,id\nhttp://a.example/,1\n", "S a.example, boilerplate"},
        Row{"NoScheme", "url,id\na.example/x,1\n", "U a.example/x, boilerplate"},
        Row{"CarriageReturns", "url,id\r\nhttp://a.example/x,1\r\n", "U a.example/x, boilerplate"},
        Row{"Semicolons", "url;id\nhttp://a.example/x,y;1\n", "U a.example/x,y, boilerplate"},
        Row{"Tabs", "1\thttp://a.example/x\tn\n\thttp://b.example/y\t\n", "U a.example/x, U b.example/y"},
        Row{"Bars", "http://a.example/x|1\n\"http://b.example/y|z\"|2\n", "U a.example/x, U b.example/y|z"},
        Row{"HeaderWithTheWordUrl", "phish_url,date\nhttp://a.example/x,1\n", "U a.example/x, boilerplate"},
        Row{"StarInAField", "url,id\nhttp://a.example/*x,1\n", "U a.example/*x, boilerplate"},
        Row{"BlankInAField", "url,id\n\"http://a.example/x y\",1\n", "U a.example/x%20y, boilerplate"},
        Row{"CommentsAndBlanks", "#######\n# text, with a comma\n\nurl,id\n", "blank, comment x2, boilerplate"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(Broken, Csv,
                         testing::Values(Row{"TooFewColumns", "id,url\n1\n2,http://a.example/x\n",
                                             "U a.example/x, bad: fewer columns than needed, boilerplate"},
                                         Row{"NoColumn", "a,b\nc,d\n", "bad: no column with a URL x2"},
                                         Row{"EmptyUrl", "id,url\n1,\n", "bad: no host, boilerplate"},
                                         Row{"TextAfterQuote", "id,url\n1,\"http://a.example/x\"y\n",
                                             "bad: text after a closing quote, boilerplate"},
                                         Row{"OpenAtTheEnd", "id,url\n1,\"http://a.example/x\n",
                                             "bad: quote is not closed, boilerplate"},
                                         Row{"AddressThatIsNone", "id,url\n1,http://999.0.2.1/x\n",
                                             "bad: host ends in a number but is no IPv4 address, boilerplate"}),
                         row_name);

TEST(CsvFeed, AQuoteThatIsNeverClosedLosesItsLineAlone) {
  std::string text = "url,note\nhttp://a.example/0,\"open\n";
  for (int i = 1; i <= 40; ++i) text += fmt::format("http://a.example/{},n\n", i);
  const Reading reading = read_text(text, Format::csv);
  EXPECT_EQ(reading.report.malformed.count("quote is not closed"), 1U);
  EXPECT_EQ(reading.report.unusable, 1U);
  EXPECT_EQ(reading.sink.entries.size(), 40U);
  EXPECT_EQ(reading.sink.entries.front(), "U a.example/1");
  EXPECT_EQ(reading.sink.lines.front(), 3U);
  expect_sums(reading);
}

TEST(CsvFeed, LinesThatAQuoteSwallowsAreCountedWhereverItCloses) {
  std::string text = "date,URL,note\n";
  for (int i = 1; i <= 2000; ++i) text += fmt::format("2020,http://e{}.example/x,{}\n", i, i % 7 == 0 ? "\"bad" : "ok");
  const Reading reading = read_text(text, Format::csv);
  EXPECT_EQ(reading.report.unusable, 285U);
  EXPECT_EQ(reading.report.taken, 1715U);
  EXPECT_EQ(reading.report.boilerplate, 1U);
  expect_sums(reading);
}

TEST(CsvFeed, LinesThatAreNoRecordsAreGivenBackAfterABound) {
  std::string text = "url,note\nhttp://a.example/0,\"open\n";
  for (int i = 0; i < 40; ++i) text += "no record\n";
  const Reading reading = read_text(text, Format::csv);
  EXPECT_EQ(reading.report.malformed.count("quote is not closed"), 1U);
  EXPECT_EQ(reading.report.unusable, 41U);
  expect_sums(reading);
}

TEST(CsvLayout, FindsTheColumn) {
  EXPECT_EQ(csv_header_column("id,dateadded,url,status"), 2U);
  EXPECT_EQ(csv_header_column(" id, \"URL\" ,x"), 1U);
  EXPECT_EQ(csv_header_column("url"), kNoColumn);
  EXPECT_EQ(csv_header_column("url,http://a.example/"), kNoColumn);
  EXPECT_EQ(csv_header_column("phish_url,date"), kNoColumn);
  EXPECT_EQ(csv_header_column("date,phish_url", ',', true), 1U);
  EXPECT_EQ(csv_header_column("2020,no url here", ',', true), kNoColumn);
  EXPECT_EQ(csv_layout("1,http://a.example/\n2,http://b.example/\n").url_column, 1U);
  EXPECT_EQ(csv_layout("1;http://a.example/,\n2;http://b.example/,\n").separator, ';');
  EXPECT_EQ(csv_layout("1,2\n").url_column, kNoColumn);
}

}  // namespace
}  // namespace bloomwall::filter::test
