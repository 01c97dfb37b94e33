// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/privoxy_parser.h"
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

class Privoxy : public testing::TestWithParam<Row> {};
TEST_P(Privoxy, IsRead) {
  ReadOptions options;
  options.format = Format::privoxy;
  expect_row(GetParam(), options);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Privoxy,
    testing::Values(
        Row{"DottedHostIsSuffix", "{+block{Trackers.}}\n.a.example\n", "S a.example, boilerplate"},
        Row{"BareHostIsExact", "{+block}\na.example\n", "X a.example, boilerplate"},
        Row{"SlashAloneIsNothing", "{+block}\n.a.example/\nb.example/\n", "S a.example, X b.example, boilerplate"},
        Row{"AmongOtherActions", "{+handle-as-image +block{a {b} c} -filter}\n.a.example\n",
            "S a.example, boilerplate"},
        Row{"UnblockAllows", "{-block}\n.a.example\n", "allow a.example, boilerplate"},
        Row{"UnblockOfOneHost", "{-block}\na.example\n", "allow @@|a.example^, boilerplate"},
        Row{"LaterActionCounts", "{+block -block}\n.a.example\n{-block +block}\n.b.example\n",
            "S b.example, allow a.example, boilerplate x2"},
        Row{"AliasIsFollowed",
            "{{alias}}\n+stop-it = +block{x} +handle-as-image\nfragile = -block -filter\nshop = -filter\n"
            "{+stop-it}\n.a.example\n{fragile}\n.b.example\n{shop}\n.c.example\n",
            "S a.example, allow b.example, skip: section that says nothing about blocking, boilerplate x7"},
        Row{"HeadOverSeveralLines", "{ \\\n+block{x} \\\n-filter \\\n}\n.a.example\n", "S a.example, boilerplate x4"},
        Row{"AliasOverSeveralLines", "{{alias}}\nstop = -filter \\\n  +block{x}\n{stop}\n.a.example\n",
            "S a.example, boilerplate x4"},
        Row{"SettingsAreBoilerplate", "{{settings}}\nfor-privoxy-version=3.0.11\n{+block}\n.a.example\n",
            "S a.example, boilerplate x3"},
        Row{"Comments", "# a\n{+block} # b\n.a.example # c\n\n", "S a.example, blank, comment, boilerplate"},
        Row{"AddressIsExact", "{+block}\n192.0.2.1\n", "X 192.0.2.1, boilerplate"}),
    row_name);
INSTANTIATE_TEST_SUITE_P(
    Broken, Privoxy,
    testing::Values(Row{"PathPattern", "{+block}\n.a.example/ads/\n/.*banner\n", "skip: path pattern x2, boilerplate"},
                    Row{"Wildcards", "{+block}\nad*.\n.ads?.example\n[a-v].example\n",
                        "skip: wildcard inside a host x3, boilerplate"},
                    Row{"OpenToTheRight", "{+block}\nads.\n.ads.\n", "skip: beginning of a host x2, boilerplate"},
                    Row{"NoPort", "{+block}\na.example:x\n", "bad: text behind a colon that is no port, boilerplate"},
                    Row{"Everything", "{+block}\n/\n", "skip: every name, boilerplate"},
                    Row{"Tag", "{+block}\nTAG:^image$\n", "skip: tag pattern, boilerplate"},
                    Row{"TopLevelDomain", "{-block}\n.edu\n", "skip: top-level domain, boilerplate"},
                    Row{"OtherSection", "{-filter}\n.a.example\n",
                        "skip: section that says nothing about blocking, boilerplate"},
                    Row{"BlockInsideAnArgument", "{+hide-from-header{+block}}\n.a.example\n",
                        "skip: section that says nothing about blocking, boilerplate"},
                    Row{"BeforeAnySection", ".a.example\n", "bad: pattern before any section"},
                    Row{"HeadNotClosed", "{+block\n.a.example\n",
                        "skip: section that says nothing about blocking, bad: section head is not closed"},
                    Row{"LinesJoinedByMistake", "{+block}\n.a.example \\\n.b.example\n.c.example\n",
                        "S c.example, bad: several words where a host is expected x2, boilerplate"},
                    Row{"NoAlias", "{{alias}}\nnonsense\n", "bad: not an alias, boilerplate"},
                    Row{"JoinedAtTheEnd", "{+block \\\n", "bad: the file ends within a joined line"}),
    row_name);

TEST(PrivoxyActions, UnbalancedBracesEnd) {
  const PrivoxyActions actions;
  EXPECT_EQ(actions.effect("+block{{{"), PrivoxyEffect::block);
  EXPECT_EQ(actions.effect("}}} -block"), PrivoxyEffect::unblock);
  EXPECT_EQ(actions.effect("{ {} } +block"), PrivoxyEffect::block);
  EXPECT_EQ(actions.effect("+blocked -blocks block"), PrivoxyEffect::none);
}

TEST(PrivoxyFile, LinesJoinedWithoutEndAreBounded) {
  std::string text = "{+block}\n";
  for (int i = 0; i < 1500; ++i) text += ".a.example \\\n";
  text += "\n.b.example\n";
  const Reading reading = read_text(text, Format::privoxy);
  EXPECT_EQ(reading.report.malformed.count("line joined from too many"), 1001U);
  EXPECT_EQ(reading.sink.entries.back(), "S b.example");
}

}  // namespace
}  // namespace bloomwall::filter::test
