// Tables through the command line: what is asked for, what --csv-column answers, and where that is noted.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using bloomwall::test::Ran;
using bloomwall::test::run;
using testing::AllOf;
using testing::HasSubstr;

class CsvColumnProgramTest : public testing::Test {
 protected:
  CsvColumnProgramTest()
      : feed_(dir_.write("feed.csv",
                         "domain,seen,reference\nbad.com,2026-01-01,https://report.org/1\nworse.com,2026-01-02,"
                         "https://report.org/2\n")
                  .string()),
        filter_((dir_.path() / "f.bwf").string()) {}
  test::TempDir dir_;
  std::string feed_, filter_;
};

TEST_F(CsvColumnProgramTest, BuildAsksAndTakesTheAnswerByNameOrNumber) {
  const Ran asked = run({"build", "-o", filter_, feed_});
  EXPECT_EQ(asked.status, 2);
  EXPECT_THAT(asked.err, AllOf(HasSubstr("--csv-column"), HasSubstr("1 \"domain\", 2 \"seen\", 3 \"reference\"")));
  for (const char* column : {"domain", "1"}) {
    const Ran built = run({"build", "-q", "-o", filter_, "--csv-column", column, feed_});
    ASSERT_EQ(built.status, 0) << built.err;
    EXPECT_THAT(run({"query", filter_, "http://www.bad.com/", "https://report.org/1"}).out,
                AllOf(HasSubstr("listed\thttp://www.bad.com/"), HasSubstr("clear\thttps://report.org/1")));
    EXPECT_THAT(run({"info", filter_}).out, HasSubstr("--csv-column"));
  }
}

TEST_F(CsvColumnProgramTest, UpdateTakesIt) {
  const std::string list = dir_.write("list.txt", "other.com\n").string();
  ASSERT_EQ(run({"build", "-q", "-o", filter_, list}).status, 0);
  const std::string delta = (dir_.path() / "f.delta").string();
  EXPECT_EQ(run({"update", filter_, "--delta", delta, "--add", feed_}).status, 2);
  const Ran updated = run({"update", filter_, "--delta", delta, "--csv-column", "domain", "--add", feed_});
  ASSERT_EQ(updated.status, 0) << updated.err;
  EXPECT_THAT(run({"query", filter_, "--delta", delta, "http://bad.com/", "https://report.org/1"}).out,
              AllOf(HasSubstr("listed\thttp://bad.com/"), HasSubstr("clear\thttps://report.org/1")));
}

TEST_F(CsvColumnProgramTest, WithAnotherFormatItIsRefused) {
  const Ran ran = run({"build", "-o", filter_, "--format", "hosts", "--csv-column", "1", feed_});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("--csv-column needs --format csv"));
}

}  // namespace
}  // namespace bloomwall::filter
