// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/rpz_parser.h"
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

class Rpz : public testing::TestWithParam<Row> {};
TEST_P(Rpz, IsRead) {
  ReadOptions options;
  options.format = Format::rpz;
  expect_row(GetParam(), options);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Rpz,
    testing::Values(
        Row{"PairIsOneSuffix", "a.example CNAME .\n*.a.example CNAME .\n", "S a.example"},
        Row{"PairInOtherOrder", "*.a.example. CNAME .\na.example. CNAME .\n", "S a.example"},
        Row{"PairFarApart", "a.example CNAME .\nb.example CNAME .\n*.b.example CNAME .\n*.a.example CNAME .\n",
            "S b.example, S a.example"},
        Row{"ApexAloneIsExact", "a.example CNAME .\n", "X a.example"},
        Row{"StarAloneIsSubdomains", "*.a.example CNAME .\n", "W a.example"},
        Row{"RepeatedHalvesAreNoPair", "a.example A 0.0.0.0\na.example AAAA ::\n", "X a.example"},
        Row{"RecordsAfterThePairAddNothing",
            "a.example A 0.0.0.0\n*.a.example A 0.0.0.0\na.example AAAA ::\n*.a.example AAAA ::\n", "S a.example"},
        Row{"NoData", "a.example CNAME *.\n", "X a.example"}, Row{"Drop", "a.example CNAME rpz-drop.\n", "X a.example"},
        Row{"WalledGarden", "a.example CNAME garden.example.net.\n", "X a.example"},
        Row{"Passthru", "a.example CNAME rpz-passthru.\n*.a.example CNAME rpz-passthru.\n", "allow a.example"},
        Row{"PassthruOfOneHost", "a.example CNAME rpz-passthru.\n", "allow @@|a.example^"},
        Row{"ActionWithoutItsLastDot", "$ORIGIN rpz.test.\na.example CNAME rpz-passthru\nb.example CNAME rpz-drop\n",
            "X a.example, X b.example, boilerplate, warn: action without its last dot, taken as a name, as BIND does "
            "x2"},
        Row{"AbsoluteNamesWithoutAZone", "a.co.uk. CNAME .\nb.co.uk. CNAME .\nc.d.com. CNAME .\n",
            "X a.co.uk, X b.co.uk, X c.d.com"},
        Row{"OldPassthru", "a.example CNAME a.example.\n*.a.example CNAME *.a.example.\n", "allow a.example"},
        Row{"OwnNameWithoutItsLastDot", "$ORIGIN rpz.test.\na.example CNAME a.example\n*.b.example CNAME *.b.example\n",
            "X a.example, W b.example, boilerplate"},
        Row{"PassthruAndBlockAreNoPair", "a.example CNAME rpz-passthru.\n*.a.example CNAME .\n",
            "W a.example, allow @@|a.example^"},
        Row{"TtlAndClass", "a.example 300 IN CNAME .\nb.example IN 1h CNAME .\n", "X a.example, X b.example"},
        Row{"LowerCase", "a.example in cname .\n", "X a.example"},
        Row{"OriginIsTakenOff", "$ORIGIN rpz.test.\na.example CNAME .\nb.example.rpz.test. CNAME .\n",
            "X a.example, X b.example, boilerplate"},
        Row{"OriginWithin", "$ORIGIN rpz.test.\n$ORIGIN example.rpz.test.\na CNAME .\n", "X a.example, boilerplate x2"},
        Row{"RelativeOrigin", "$ORIGIN rpz.test.\n$ORIGIN example\na CNAME .\n", "X a.example, boilerplate x2"},
        Row{"SoaNamesTheZone", "rpz.test. IN SOA a. b. 1 2 3 4 5\na.example.rpz.test. CNAME .\n",
            "X a.example, boilerplate"},
        Row{"AbsoluteOutsideOfTheZone", "$ORIGIN rpz.test.\na.example. CNAME .\n", "X a.example, boilerplate"},
        Row{"SoaOverSeveralLines",
            "$TTL 300\n@ IN SOA localhost. admin.localhost. ( ; start\n  1 ; serial\n  2 3 4 5 )\n  IN NS "
            "localhost.\na.example CNAME .\n",
            "X a.example, boilerplate x5"},
        Row{"EntryInParentheses", "a.example CNAME (\n .\n)\n", "X a.example, boilerplate x2"},
        Row{"OwnerIsInherited", "a.example A 0.0.0.0\n   AAAA ::\n", "X a.example"},
        Row{"CommentsAndBlanks", "; a.example CNAME .\n\n   ; b\na.example CNAME . ; why\n",
            "X a.example, blank, comment x2"},
        Row{"AddressIsExact", "192.0.2.1 CNAME .\n", "X 192.0.2.1"},
        Row{"DnssecIsBoilerplate", "a.test. RRSIG A 1 2\n@ NS x.\n", "boilerplate x2"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, Rpz,
    testing::Values(
        Row{"OtherTriggers",
            "32.1.2.0.192.rpz-ip CNAME .\n32.1.2.0.192.rpz-client-ip CNAME .\nns.example.rpz-nsdname CNAME .\n"
            "32.1.2.0.192.rpz-nsip CNAME .\n",
            "skip: rpz-client-ip trigger, skip: rpz-ip trigger, skip: rpz-nsdname trigger, skip: rpz-nsip trigger"},
        Row{"TriggerUnderTheOrigin", "$ORIGIN rpz.test.\n32.1.2.0.192.rpz-ip CNAME .\n",
            "skip: rpz-ip trigger, boilerplate"},
        Row{"TcpOnly", "a.example CNAME rpz-tcp-only.\n", "skip: rpz-tcp-only"},
        Row{"EveryName", "* CNAME .\n", "skip: every name"},
        Row{"OtherData", "a.example TXT \"a ; b ( c\"\n", "skip: local data of a type other than addresses"},
        Row{"Include", "$INCLUDE other.zone\n$GENERATE 1-9 a$ CNAME .\n",
            "skip: directive that adds names from elsewhere x2"},
        Row{"NoTarget", "a.example CNAME\n", "bad: CNAME without a target"},
        Row{"NoType", "a.example\n", "bad: not a zone record"},
        Row{"ParenthesisTooMany", "a.example CNAME . )\nb.example CNAME .\n", "X b.example, bad: not a zone record"},
        Row{"ParenthesisOpen", "a.example CNAME ( .\n", "bad: parenthesis is not closed"},
        Row{"TopLevelDomain", "zip CNAME .\n*.zip CNAME .\n", "skip: top-level domain x2"},
        Row{"SubdomainsOfAnAddress", "*.192.0.2.1 CNAME .\n", "skip: subdomains of an address"}),
    row_name);

TEST(RpzZone, AParenthesisThatIsNeverClosedLosesItsLineAlone) {
  std::string text = "a.example CNAME (\n";
  for (int i = 0; i < 1100; ++i) text += "b.example CNAME .\n";
  const Reading reading = read_text(text, Format::rpz);
  EXPECT_EQ(reading.report.malformed.count("parenthesis is not closed"), 1U);
  EXPECT_EQ(reading.sink.entries, std::vector<std::string>{"X b.example"});
  EXPECT_EQ(reading.report.unusable, 1U);
  EXPECT_EQ(reading.report.taken, 1100U);
  expect_sums(reading);
}

TEST(RpzZone, LinesInAnOpenParenthesisThatAreNoRecordsAreCounted) {
  std::string text = "a.example CNAME (\n";
  for (int i = 0; i < 300; ++i) text += "nonsense\n";
  text += "b.example CNAME .\n";
  const Reading reading = read_text(text, Format::rpz);
  EXPECT_EQ(reading.sink.entries, std::vector<std::string>{"X b.example"});
  EXPECT_EQ(reading.report.unusable, 301U);
  expect_sums(reading);
}

TEST(RpzZone, WhoseNameStandsOnEveryOwnerAndNowhereElseIsAskedFor) {
  const std::string soa = "$TTL 300\n@ IN SOA localhost. root.localhost. 1 2 3 4 5\n@ IN NS localhost.\n";
  const std::string records =
      "a.com.rpz.corp.test. IN CNAME .\n*.a.com.rpz.corp.test. CNAME .\nb.co.uk.rpz.corp.test. A 192.0.2.1\n";
  const std::string error = read_text(soa + records, Format::rpz).error;
  EXPECT_NE(error.find("put the line \"$ORIGIN rpz.corp.test.\""), std::string::npos) << error;
  EXPECT_EQ(describe(read_text("$ORIGIN rpz.corp.test.\n" + records, Format::rpz)), "S a.com, X b.co.uk, boilerplate");
  EXPECT_EQ(describe(read_text("rpz.corp.test. SOA a. b. 1 2 3 4 5\n" + records, Format::rpz)),
            "S a.com, X b.co.uk, boilerplate");
}

// Searched for ever once.
TEST(RpzZone, IsNotLookedForInANameWithoutADot) {
  const Reading reading = read_text("a.example. CNAME .\nb CNAME .\n", Format::rpz);
  EXPECT_EQ(reading.error, "");
  expect_sums(reading);
}

TEST(RpzPairs, HalvesThatLeaveTheWindowMeanTheSameUnpaired) {
  ParsePlan plan;
  plan.format = Format::rpz;
  EntryGate gate(plan);
  Collected sink;
  FileReport report;
  gate.bind(sink, report);
  RpzPairs pairs(2);
  std::uint64_t line = 0;
  const auto add = [&](std::string_view host, bool wildcard) {
    gate.begin_line(++line, host);
    pairs.add(host, wildcard, Side::block, gate);
  };
  add("a.example", false);
  add("b.example", false);
  add("c.example", true);   // a leaves
  add("a.example", true);   // b leaves
  add("c.example", false);  // pairs
  pairs.flush(gate);
  EXPECT_EQ(sink.entries, (std::vector<std::string>{"X a.example", "X b.example", "S c.example", "W a.example"}));
  EXPECT_EQ(sink.lines, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST(RpzPairs, NamesTooLongForTheDnsAreMalformed) {
  const std::string name = std::string(60, 'a') + "." + std::string(240, 'b') + ".example";
  const Reading reading = read_text(name + " CNAME .\n*." + name + " CNAME .\n", Format::rpz);
  EXPECT_EQ(describe(reading), "bad: host that no request can have x2");
}

}  // namespace
}  // namespace bloomwall::filter::test
