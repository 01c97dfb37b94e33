// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/stated_count.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

TEST(StatedCount, IsReadInTheSpellingsOfLists) {
  struct Spelling {
    const char* comment;
    std::uint64_t count;
  };
  for (const Spelling& row : {Spelling{"# Number of entries: 1000", 1000},
                              {"! Domains: 122680", 122680},
                              {"# Domain count: 42,531", 42531},
                              {"#  |Blocked: 52,577 domains", 52577},
                              {"; xRuffKez CTI (Cyber) RPZ | entries 6125", 6125},
                              {"# Entries        : 1530 subnets, 18459 unique IPs", 1530},
                              {"# Number of unique domains: 76.120", 76120},
                              {"! Total count: 7", 7},
                              {"# 1,234 unique domains", 1234},
                              {"# Total number of network filters: 12", 12},
                              {"// records = 5", 5},
                              {"# Total: 12'345 domains.", 12345},
                              {"! Number of rules: 1000 ", 1000}}) {
    EXPECT_EQ(stated_count(row.comment), row.count) << row.comment;
  }
}

TEST(StatedCount, IsNotReadOutOfOtherComments) {
  for (const char* comment :
       {"# Expires: 6 days (update frequency)", "# Version: 202601011200", "# Last modified: 2026-01-01 12:30",
        "#    1 |   46289 | adblock | http | online", "# Nr | Count | Format", "# rules", "# 192.0.2.1 hosts",
        "! 5 ways", "# entries 2026-01-01", "# Unique IPs: 612869122", "# domains: none",
        "! Title: 1000 domains to block", "# entries: 99999999999999999999"}) {
    EXPECT_EQ(stated_count(comment), std::nullopt) << comment;
  }
}

struct Cut {
  const char* rule;
  const char* text;
  std::uint64_t stated, missing;
};
class CutList : public testing::TestWithParam<Cut> {};
TEST_P(CutList, MissesWhatItStates) {
  const FileReport report = read_text(GetParam().text, ReadOptions{}).report;
  EXPECT_EQ(report.stated.count, GetParam().stated);
  EXPECT_EQ(report.missing_of_stated(), GetParam().missing);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, CutList,
    testing::Values(Cut{"Whole", "# Number of entries: 2\na.test\nb.test\n", 2, 0},
                    Cut{"Half", "# Number of entries: 4\na.test\nb.test\n", 4, 2},
                    Cut{"BelowItsEntries", "a.test\n# entries: 3\n", 3, 2}, Cut{"Nothing", "a.test\n", 0, 0},
                    Cut{"NamesOfHostsFiles", "# Domains: 3\n0.0.0.0 a.test b.test\n0.0.0.0 c.test\n", 3, 0},
                    Cut{"UnusableLinesCount",
                        "[Adblock Plus]\n! Total number of rules: 3\n||a.test^\n##.ad\n||b.test^$image\n", 3, 0},
                    Cut{"PairsOfZones", "; entries 2\na.test CNAME .\n*.a.test CNAME .\n", 2, 1},
                    Cut{"TheLargestOfSeveral", "# entries: 2\na.test\nb.test\n# entries: 4\nc.test\n", 4, 1}),
    [](const testing::TestParamInfo<Cut>& row) { return std::string(row.param.rule); });

TEST(CutList, EndsInTheMiddleOfALine) {
  EXPECT_EQ(read_text("a.test\nb.te", ReadOptions{}).report.open_line, 2U);
  EXPECT_EQ(read_text("a.test\nb.test\n", ReadOptions{}).report.open_line, 0U);
  EXPECT_EQ(read_text("", ReadOptions{}).report.open_line, 0U);
  EXPECT_EQ(read_text("a.test\nb.te", ReadOptions{}, {}, 3).report.open_line, 2U);
}

TEST(CutList, IsSaidInTheReport) {
  const std::string text = text_of(read_text("# Number of entries: 4\na.test\nb.te", ReadOptions{}).report);
  EXPECT_NE(text.find("states 4 entries, 2 of them are missing (line 1: # Number of entries: 4)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("the last line, 3, has no line end"), std::string::npos) << text;
}

}  // namespace
}  // namespace bloomwall::filter::test
