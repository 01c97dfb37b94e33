// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/csv_parser.h"
#include "filter/lists/csv_layout.h"
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
        Row{"HeaderAgainInAnotherTable",
            "url,id\nhttp://a.example/x,1\nhttp://a.example/y,1\ndate,url,tags\n2,http://b.example/y,n\n",
            "U a.example/x, U a.example/y, U b.example/y, boilerplate x2"},
        Row{"NoHeader", "1,http://a.example/x,n\n2,http://b.example/y,n\n", "U a.example/x, U b.example/y"},
        Row{"HeaderInACommentOfWords",
            "# Date, source host, URL\n# Note, cut at commas\n1,b.example,http://a.example/x\n",
            "U a.example/x, comment x2"},
        Row{"CommentThatIsNoHeader", "# Malicious URL feed, updated\n# a url, seen\n1,2,http://a.example/x,n\n",
            "U a.example/x, comment x2"},
        Row{"CellThatSaysUrl", "url,type\nhttp://a.example/x,url\nb.example/y,url\nhttp://c.example/z,url\n",
            "U a.example/x, U b.example/y, U c.example/z, boilerplate"},
        Row{"SeveralColumnsWithUrlsAndAHeader", "link,url\nhttp://feed.example/1,http://a.example/x\n",
            "U a.example/x, boilerplate"},
        Row{"OneColumn", "\"url\"\n\"http://a.example/x,y\"\n", "U a.example/x,y, boilerplate"},
        Row{"EmptyColumnsAtTheEnd", "id,url\n1,http://a.example/x,,\n", "U a.example/x, boilerplate"},
        Row{"HostsAndAddresses", "id,url\n1,a.example\n2,192.0.2.1\n3,192.0.2.2:443\n4,b.example:8080/x\n5,*.c.com\n",
            "S a.example, X 192.0.2.1, X 192.0.2.2, U b.example/x, S c.com, boilerplate"},
        Row{"EntityOfAPage", "id,url\n1,http://a.example/x?b=1&amp;c=2\n",
            "Q a.example/x?b=1&amp;c=2, Q a.example/x?b=1&c=2, boilerplate, warn: \"&amp;\" in a URL, taken as it "
            "stands "
            "and as '&'"},
        Row{"TextOverSeveralLinesHoldsNoRecords",
            "id,url,note\n1,http://a.example/x,\"one\nlogin, http://b.example/, more\nend\"\n2,http://c.example/y,n\n",
            "U a.example/x, U c.example/y, bad: row inside a quoted field of several lines, boilerplate x2"},
        Row{"EmptyRows", "id,url\n,\n1,http://a.example/x\n,,,\n\"\",\"\"\n , \n",
            "U a.example/x, blank x4, boilerplate"},
        Row{"SeparatorLineOfExcel", "sep=;\nurl;date\nhttp://a.example/x,y;1\n", "U a.example/x,y, boilerplate x2"},
        Row{"QuotedSeparatorLine", "\"sep=|\"\nurl|date\nhttp://a.example/x|1\n", "U a.example/x, boilerplate x2"},
        Row{"SeparatorLineForTabs", "sep=\t\nurl\tdate\nhttp://a.example/x\t1\n", "U a.example/x, boilerplate x2"},
        Row{"MarkBeforeAQuotedHeader", "\xef\xbb\xbf\"url\";\"date\"\nhttp://a.example/x;1\n",
            "U a.example/x, boilerplate"},
        Row{"SemicolonsWithBlanks", "url ; date ; note\nhttp://a.example/x ; 1 ; n\nhttp://b.example/y ; 2 ; n\n",
            "U a.example/x, U b.example/y, boilerplate"},
        Row{"NothingButComments", "# nothing\n", "comment"},
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
        Row{"FragmentOfTheRoot", "url,id\nhttp://a.example/#!/evil,1\n",
            "S a.example, boilerplate, warn: fragment cut off, taken as the whole host"},
        Row{"BlankInAField", "url,id\n\"http://a.example/x y\",1\n", "U a.example/x%20y, boilerplate"},
        Row{"CommentsAndBlanks", "#######\n# text, with a comma\n\nurl,id\n", "blank, comment x2, boilerplate"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, Csv,
    testing::Values(Row{"TooFewColumns", "id,url\n1\n2,http://a.example/x\n",
                        "U a.example/x, bad: other number of columns than the header or most "
                        "records, boilerplate"},
                    Row{"CommasThatAreNotQuoted",
                        "d,url,s\n1,http://a.example/,q/evil,on\n1,http://b.example/x,on\n"
                        "1,http://c.example/x,on\n",
                        "U b.example/x, U c.example/x, bad: other number of columns than the "
                        "header or most records, boilerplate"},
                    Row{"NoUrl",
                        "date,url,note\n1,None,n\n2,unknown,n\n3,N/A,n\n4,0,n\n5,404,n\n6,2026-01-01,n\n"
                        "7,/gate.php,n\n8,5d41402abc4b2a76b9719d911017c592,n\n9,gate.php5,n\n",
                        "bad: neither a URL nor a host in the column x9, boilerplate"},
                    Row{"MailAddresses", "date,url\n1,a@b.com\n2,a@b.com/x\n",
                        "bad: neither a URL nor a host in the column x2, boilerplate"},
                    Row{"SeveralUrls",
                        "date,url\n1,http://a.example/x http://b.example/x\n"
                        "2,\"http://a.example/x,http://b.example/x\"\n",
                        "bad: several URLs x2, boilerplate"},
                    Row{"Markup", "date,url\n1,<http://a.example/x>\n2,http://a.example/x<br>\n",
                        "bad: markup or a quote beside a URL x2, boilerplate"},
                    Row{"EmptyUrl", "id,url\n1,\n", "bad: no host, boilerplate"},
                    Row{"TextAfterQuote", "id,url\n1,\"http://a.example/x\"y\n",
                        "bad: text after a closing quote, boilerplate"},
                    Row{"OpenAtTheEnd", "id,url\n1,\"http://a.example/x\n", "bad: quote is not closed, boilerplate"},
                    Row{"AddressThatIsNone", "id,url\n1,http://999.0.2.1/x\n",
                        "bad: host ends in a number but is not an IPv4 address, boilerplate"}),
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
  std::string text = "url,note\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("http://a.example/{},n\n", i);
  text += "http://a.example/60,\"open\n";
  for (int i = 0; i < 40; ++i) text += "no record\n";
  const Reading reading = read_text(text, Format::csv);
  EXPECT_EQ(reading.report.malformed.count("quote is not closed"), 1U);
  EXPECT_EQ(reading.report.unusable, 41U);
  EXPECT_EQ(reading.report.taken, 60U);
  expect_sums(reading);
}

// A quote that opens in one row and closes in another makes one record of them: what it swallows is said.
struct Swallowing {
  const char* rule;
  const char* text;  // below the header "id,url,note"
  std::uint64_t rows;
};
class OpenQuotes : public testing::TestWithParam<Swallowing> {};
TEST_P(OpenQuotes, LoseNoRowUnsaid) {
  const Reading reading = read_text("id,url,note\n" + std::string(GetParam().text), Format::csv);
  ASSERT_EQ(reading.error, "");
  expect_sums(reading);
  EXPECT_EQ(reading.report.taken + reading.report.unusable, GetParam().rows) << full_story(reading);
  EXPECT_EQ(reading.report.boilerplate, 1U) << full_story(reading);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, OpenQuotes,
    testing::Values(
        Swallowing{"ClosedByTheNextRow", "1,http://a.example/,\"x\n2,http://b.example/,y\"\n3,http://c.example/,z\n",
                   3},
        Swallowing{"ClosedRowsLater",
                   "1,http://a.example/,\"x\n2,http://b.example/,y\n3,http://c.example/,y\n4,http://d.example/,y\"\n",
                   4},
        Swallowing{"ClosedByAnOpeningOne", "1,http://a.example/,\"x\n2,http://b.example/,\"y\"\n", 2},
        Swallowing{"InTheFirstField", "\"1,http://a.example/,x\n2,http://b.example/,y\n3,http://c.example/,\"z\"\n", 3},
        Swallowing{"DoubledLater", "1,http://a.example/,\"x\n2,http://b.example/,\"\"\n3,http://c.example/,z\"\n", 3},
        Swallowing{"EachRowOpens", "1,http://a.example/,\"x\n2,http://b.example/,\"y\n3,http://c.example/,\"z\n", 3}),
    [](const testing::TestParamInfo<Swallowing>& row) { return std::string(row.param.rule); });

TEST(CsvFeed, ARecordOfSeveralLinesIsFoundAtItsFirst) {
  const Reading reading = read_text("url,note\nhttp://a.example/x,\"one\ntwo\"\n", Format::csv);
  EXPECT_EQ(reading.sink.lines, std::vector<std::uint64_t>{2});
}

TEST(CsvLayout, FindsTheColumn) {
  EXPECT_EQ(csv_header_column("id,dateadded,url,status"), 2U);
  EXPECT_EQ(csv_header_column(" id, \"URL\" ,x"), 1U);
  EXPECT_EQ(csv_header_column("url"), kNoColumn);
  EXPECT_EQ(csv_header_column("url,http://a.example/"), kNoColumn);
  EXPECT_EQ(csv_header_column("a.example/x,url"), kNoColumn);
  EXPECT_EQ(csv_header_column("phish_url,date"), kNoColumn);
  EXPECT_EQ(csv_layout("1,http://a.example/\n2,http://b.example/\n", "x")->column, 1U);
  EXPECT_EQ(csv_layout("1;http://a.example/,\n2;http://b.example/,\n", "x")->separator, ';');
}

struct Asked {
  const char* rule;
  const char* text;
  const char* column;  // what answers the question, as --csv-column has it
  const char* want;    // what is read then
};
void PrintTo(const Asked& row, std::ostream* out) { *out << row.text; }
class CsvColumn : public testing::TestWithParam<Asked> {};
TEST_P(CsvColumn, IsAskedForWhereSeveralMayBeMeant) {
  ReadOptions options;
  options.format = Format::csv;
  const Reading refused = read_text(GetParam().text, options);
  EXPECT_NE(refused.error.find("--csv-column"), std::string::npos) << describe(refused);
  options.format = Format::auto_detect;
  options.csv_column = GetParam().column;
  expect_row({GetParam().rule, GetParam().text, GetParam().want}, options);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, CsvColumn,
    testing::Values(
        Asked{"DomainsAndReferences", "domain,first_seen,reference\nd.com,1,https://r.com/\ne.com,2,https://r.com/\n",
              "domain", "S d.com, S e.com, boilerplate"},
        Asked{"DomainsWithoutAHeader", "# feed\nd.com,used by x,https://r.com/a\ne.com,used by y,https://r.com/b\n",
              "1", "S d.com, S e.com, comment"},
        Asked{"AddressesAndReferences", "192.0.2.1,botnet,https://r.com/1\n192.0.2.2,botnet,https://r.com/2\n", "1",
              "X 192.0.2.1, X 192.0.2.2"},
        Asked{"HashesAndReferences",
              "5d41402abc4b2a76b9719d911017c592,https://r.com/1\n5d41402abc4b2a76b9719d911017c593,https://r.com/2\n",
              "2", "U r.com/1, U r.com/2"},
        Asked{"ValuesOfSeveralKinds",
              "# "
              "\"id\",\"ioc_value\",\"reference\"\n\"1\",\"http://a.com/x\",\"None\"\n\"2\",\"d.com\",\"https://r.com/"
              "\"\n",
              "ioc_value", "U a.com/x, S d.com, comment"},
        Asked{"SeveralColumnsWithUrls", "http://r.com/1,http://a.com/x\nhttp://r.com/2,http://b.com/x\n", "2",
              "U a.com/x, U b.com/x"},
        Asked{"NameOfAReference", "day,source_url\n1,http://r.com/1\n2,http://r.com/2\n", "Source_URL",
              "U r.com/1, U r.com/2, boilerplate"},
        Asked{"NoUrls", "date,domain\n1,d.com\n2,e.com\n", "2", "S d.com, S e.com, boilerplate"},
        Asked{"HeaderAgain",
              "day;host;url_of_report\n1;d.com;http://r.com/\nurl_of_report;host;day\nhttp://r.com/;e.com;2\n", "host",
              "S d.com, S e.com, boilerplate x2"}),
    [](const testing::TestParamInfo<Asked>& row) { return std::string(row.param.rule); });

TEST(CsvColumn, ThatIsNotThereIsRefusedAndTheColumnsAreNamed) {
  ReadOptions options;
  for (const char* column : {"host", "0", "3", "twice"}) {
    options.csv_column = column;
    const std::string error = read_text("twice,twice\nd.com,1\n", options).error;
    EXPECT_NE(error.find("1 \"twice\", 2 \"twice\""), std::string::npos) << column << ": " << error;
  }
  options.format = Format::hosts;
  EXPECT_NE(read_text("0.0.0.0 d.com\n", options).error.find("--csv-column needs --format csv"), std::string::npos);
}

// A table that nobody says is one: the question is for its column, not a complaint about domains.
TEST(CsvColumn, IsAskedForWhereATableHoldsHosts) {
  for (const char* text : {"Domain,Malware,Date\na.com,x,2026\nb.com,y,2026\nc.com,x,2026\n",
                           "a.com;2026-01-01;x\nb.com;2026-01-02;y\nc.com;2026-01-02;y\n",
                           "host\tday\na.com\t2026-01-01\nb.com\t2026-01-02\nc.com\t2026-01-03\n",
                           "Type,Indicator,App\nip,192.0.2.1,x\ndomain,a.com,x\ndomain,b.com,x\n",
                           "sep=;\nday;host\n1;a.com\n2;b.com\n"}) {
    const std::string error = read_text(text, ReadOptions{}).error;
    EXPECT_NE(error.find("--csv-column"), std::string::npos) << text << error;
    EXPECT_EQ(error.find("unreadable"), std::string::npos) << text << error;
  }
}

TEST(CsvColumn, HeaderOfAnotherWidthThanTheRecordsIsRefused) {
  std::string text = "url,label\n";  // as programs write it that do not name the column of row numbers
  for (int i = 0; i < 9; ++i) text += fmt::format("{},http://a.example/{},bad\n", i, i);
  EXPECT_NE(read_text(text, Format::csv).error.find("its header names 2 columns, but most lines have 3"),
            std::string::npos);
}

TEST(CsvFeed, ACellThatNamesAColumnDoesNotTurnTheFeed) {
  std::string text = "date,url,type\n";
  for (int i = 0; i < 500; ++i) text += fmt::format("2026,http://a.example/{},url\n", i);
  text += "2026,b.example/x,url\n";
  for (int i = 500; i < 900; ++i) text += fmt::format("2026,http://a.example/{},url\n", i);
  const Reading reading = read_text(text, Format::csv);
  EXPECT_EQ(reading.report.taken, 901U);
  EXPECT_EQ(reading.sink.entries.back(), "U a.example/899");
}

}  // namespace
}  // namespace bloomwall::filter::test
