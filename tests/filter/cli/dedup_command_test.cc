// `dedup` through the command line: what it prints where, and how it ends.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::Ran;
using test::run;
using testing::HasSubstr;

class DedupCommandTest : public testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }
  test::TempDir dir_;
};

TEST_F(DedupCommandTest, LinesGoToStdoutAndTheSummaryToStderr) {
  const Ran ran = run({"dedup", "--entries", "1k", write("f", "b\na\nb\n")});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "b\na\n");
  EXPECT_THAT(ran.err, HasSubstr("3 lines in, 2 out, 1 dropped"));
  EXPECT_THAT(ran.err, HasSubstr("predicted"));
  EXPECT_EQ(run({"dedup", "-q", write("g", "a\na")}).err, "");
}

TEST_F(DedupCommandTest, TheSummaryAsJson) {
  const Ran ran = run({"dedup", "--json", "--memory", "1MB", write("f", "a\nb\na\n")});
  const auto json = nlohmann::json::parse(ran.err);
  EXPECT_EQ(json["lines_in"], 3);
  EXPECT_EQ(json["lines_out"], 2);
  EXPECT_EQ(json["filter_bytes"], 999'424);
  EXPECT_GE(json["error_predicted"], 0.0);
  EXPECT_GE(json["error_from_fill"], 0.0);
  EXPECT_EQ(ran.out, "a\nb\n");
}

TEST_F(DedupCommandTest, SaysWhereTheErrorEndedAboveTheTarget) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "line " + std::to_string(i) + '\n';
  const Ran ran = run({"dedup", "--memory", "4096", "--fpr", "1e-6", write("f", text)});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("--fpr: more lines came"));
  EXPECT_EQ(run({"dedup", "--memory", "1MB", "--fpr", "1e-6", write("f", text)}).status, 0);
}

TEST_F(DedupCommandTest, RefusesBeforeItReads) {
  EXPECT_EQ(run({"dedup", "--memory", "100", "/nowhere"}).status, 2);
  const Ran ran = run({"dedup", "--memory", "1MB", "--entries", "10M", "--fpr", "1e-6", "/nowhere"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("10,000,000 lines need"));
  EXPECT_EQ(run({"dedup", "--memory", "1MB", "/nowhere"}).status, 2);
  const Ran twice = run({"dedup", "--memory", "1MB", "-", "/nowhere", "-"});
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("standard input can be read once only"));
}

TEST_F(DedupCommandTest, OneKeyMakesTwoRunsLoseTheSameLines) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "line " + std::to_string(i) + '\n';
  const std::string file = write("f", text);
  const std::string key = write("key", std::string(64, 'a'));
  const auto lose = [&] { return run({"dedup", "-q", "--memory", "4096", "--series-key", key, file}).out; };
  const std::string first = lose();
  EXPECT_LT(first.size(), text.size());
  EXPECT_EQ(lose(), first);
}

TEST_F(DedupCommandTest, HelpNamesEveryOption) {
  const Ran ran = run({"dedup", "--help"});
  EXPECT_EQ(ran.status, 0);
  for (const char* option : {"--memory", "--fpr", "--entries", "--series-key", "--threads", "--json", "--quiet"})
    EXPECT_THAT(ran.out, HasSubstr(option));
}

}  // namespace
}  // namespace bloomwall::filter
