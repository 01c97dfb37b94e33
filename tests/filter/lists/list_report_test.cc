// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_report.h"

#include <gtest/gtest.h>

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

TEST(ReasonTally, KeepsTheFirstFiveExamples) {
  ReasonTally tally;
  for (std::uint64_t line = 1; line <= 9; ++line) tally.add("why", line, "text");
  tally.add("other", 3, "x");
  EXPECT_EQ(tally.total(), 10U);
  EXPECT_EQ(tally.count("why"), 9U);
  EXPECT_EQ(tally.count("nothing"), 0U);
  const auto reasons = tally.by_count();
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons[0].reason, "why");
  ASSERT_EQ(reasons[0].examples.size(), kExamplesKept);
  EXPECT_EQ(reasons[0].examples.back().line, 5U);
}

TEST(ReasonTally, MergeKeepsTheExamplesOfTheLowestLines) {
  ReasonTally early;
  ReasonTally late;
  for (std::uint64_t line = 1; line <= 3; ++line) early.add("why", line * 2, "early");
  for (std::uint64_t line = 1; line <= 5; ++line) late.add("why", line * 2 + 1, "late");
  late.add("only late", 9, "x");
  late.merge(early);
  EXPECT_EQ(late.count("why"), 8U);
  EXPECT_EQ(late.count("only late"), 1U);
  std::vector<std::uint64_t> lines;
  const auto reasons = late.by_count();
  for (const Example& example : reasons.at(0).examples) lines.push_back(example.line);
  EXPECT_EQ(lines, (std::vector<std::uint64_t>{2, 3, 4, 5, 6}));
}

TEST(ReasonTally, ExamplesAreSafeToPrint) {
  ReasonTally tally;
  tally.add("control", 1, "a\x1b[2Jb\tc\x7f");
  tally.add("long", 2, std::string(500, 'x'));
  std::string umlauts(kExampleBytes - 1, 'x');
  tally.add("utf8", 3,
            umlauts +
                "\xc3\xbc"
                "yyyy");
  const auto example = [&](const char* reason) {
    for (const auto& r : tally.by_count()) {
      if (r.reason == reason) return r.examples.at(0).text;
    }
    return std::string();
  };
  EXPECT_EQ(example("control"), "a\\x1B[2Jb\\x09c\\x7F");
  EXPECT_EQ(example("long"), std::string(kExampleBytes, 'x') + "...");
  EXPECT_EQ(example("utf8"), umlauts + "...");
}

TEST(FileReport, UnusableShareLeavesOutWhatIsNoRule) {
  FileReport report;
  report.blank = report.comments = report.boilerplate = report.cancelled = 1000;
  EXPECT_EQ(report.unusable_share(), 0.0);
  report.taken = 90;
  report.allowed = 5;
  report.unusable = 5;
  EXPECT_DOUBLE_EQ(report.unusable_share(), 0.05);
}

TEST(FileReport, NamesLostBesideOthersWeighAndAreShown) {
  const FileReport report = read_text("0.0.0.0 a.example b.example/c d.example:80\n", Format::hosts).report;
  EXPECT_EQ(report.skipped_names.total(), 2U);
  EXPECT_DOUBLE_EQ(report.unusable_share(), 2.0 / 3.0);
  EXPECT_NE(text_of(report).find("  skipped name: path where a host is expected: 1\n    line 1: 0.0.0.0 a.example"),
            std::string::npos)
      << text_of(report);
}

TEST(FileReport, FilesOfOneArgumentAreJudgedTogether) {
  FileReport domains;
  domains.list = "folder";
  domains.taken = 99;
  FileReport expressions;
  expressions.list = "folder";
  expressions.unusable = 1;
  FileReport other;
  other.list = "other";
  other.taken = 98;
  other.unusable = 2;
  const FileReport all[] = {domains, expressions, other};
  const UnusableShare worst = worst_unusable_share(all);
  EXPECT_EQ(worst.list, "other");
  EXPECT_DOUBLE_EQ(worst.share, 0.02);
  EXPECT_EQ(worst_unusable_share({}).share, 0.0);
}

TEST(FileReport, PartsOfAFileAddUpToTheWhole) {
  const std::string one = "a.example\n# c\n\nzip\nb c\n192.0.2.1\n";
  const std::string two = "intranet\ngithub.io\nzip\n";
  FileReport sum = read_text(one, Format::domains).report;
  sum.merge_counts(read_text(two, Format::domains).report);
  const FileReport whole = read_text(one + two, Format::domains).report;
  EXPECT_EQ(sum.lines, whole.lines);
  EXPECT_EQ(sum.taken, whole.taken);
  EXPECT_EQ(sum.unusable, whole.unusable);
  EXPECT_EQ(sum.entries, whole.entries);
  EXPECT_EQ(sum.addresses, whole.addresses);
  EXPECT_EQ(sum.single_label, whole.single_label);
  EXPECT_EQ(sum.unsupported.count("top-level domain"), 2U);
  EXPECT_EQ(sum.warnings.count(kWarnPublicSuffix), 1U);
}

TEST(NotTaken, IsGivenByReasonWithExamples) {
  FileReport report;
  report.taken = 96;
  report.unusable = 4;
  for (std::uint64_t line = 1; line <= 3; ++line) report.unsupported.add("modifier $script", line, "||a.test^$script");
  report.malformed.add("no host", 9, "http://");
  const auto lost = not_taken(report);
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_EQ(lost[0].reason, "modifier $script");
  EXPECT_EQ(lost[0].count, 3U);
  EXPECT_EQ(lost[0].examples.front().line, 1U);
  EXPECT_EQ(loss_text(report),
            "4 of 100 rules are not taken (4.0 %): 3 modifier $script (line 1: ||a.test^$script); 1 no host (line 9: "
            "http://)");
  EXPECT_EQ(loss_text(FileReport{}), "");
}

TEST(NotTaken, IsBounded) {
  FileReport report;
  for (std::uint64_t i = 0; i < 40; ++i) {
    for (std::uint64_t n = 0; n <= i; ++n) report.malformed.add(fmt::format("reason {}", i), 1, "x");
  }
  const auto lost = not_taken(report);
  ASSERT_EQ(lost.size(), kReasonsShown);
  EXPECT_EQ(lost.back().reason, kOtherReasons);
  std::uint64_t sum = 0;
  for (const auto& reason : lost) sum += reason.count;
  EXPECT_EQ(sum, report.malformed.total());
  EXPECT_NE(text_of(report).find("unreadable: other reasons: 406"), std::string::npos) << text_of(report);
}

}  // namespace
}  // namespace bloomwall::filter::test
