// `update` and `info` on deltas and counting filters, through the command line.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::Ran;
using test::run;
using testing::HasSubstr;
using testing::Not;

class UpdateCommandTest : public testing::Test {
 protected:
  UpdateCommandTest() {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "host" + std::to_string(i) + ".example\n";
    list_ = write("list.txt", text);
  }
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }
  std::string at(const char* name) const { return (dir_.path() / name).string(); }
  Ran info(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"info", at("f.bwf"), "--delta", at("f.delta")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  test::TempDir dir_;
  std::string list_;
};

TEST_F(UpdateCommandTest, WhenARebuildIsDueIsSaidAndConfigurable) {
  ASSERT_EQ(run({"build", "-q", "-o", at("f.bwf"), list_}).status, 0);
  const std::string two = write("two.txt", "a.example\nb.example\n");
  const std::string one = write("one.txt", "c.example\n");
  const Ran first = run({"update", at("f.bwf"), "--delta", at("f.delta"), "--add", two});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("2 adds and 0 removes, 2.00 % of the filter's entries: no rebuild is due"));
  EXPECT_THAT(info().out, HasSubstr(": no rebuild is due"));
  const Ran second = run({"update", "--json", at("f.bwf"), "--delta", at("f.delta"), "--add", one});
  EXPECT_EQ(second.json()["delta"]["rebuild_due"], true);
  EXPECT_THAT(info().out, HasSubstr("3.00 % of the filter's entries: a rebuild is due (over 2 %)"));
  EXPECT_THAT(info().out, HasSubstr("error now"));
  EXPECT_THAT(info({"--rebuild-at", "3%"}).out, HasSubstr("no rebuild is due"));
  EXPECT_THAT(info({"--rebuild-at", "0.5"}).out, HasSubstr("a rebuild is due (over 0.5 %)"));
  const auto json = info({"--rebuild-at", "5%", "--json"}).json()["delta"];
  EXPECT_EQ(json["rebuild_due"], false);
  EXPECT_EQ(json["rebuild_at"], 0.05);
  const Ran quiet =
      run({"update", "--json", "--rebuild-at", "4%", at("f.bwf"), "--delta", at("f.delta"), "--add", one});
  EXPECT_EQ(quiet.json()["delta"]["rebuild_due"], false);
}

TEST_F(UpdateCommandTest, AShareThatIsNoneIsRefused) {
  ASSERT_EQ(run({"build", "-q", "-o", at("f.bwf"), list_}).status, 0);
  const Ran wrong = info({"--rebuild-at", "101%"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("'101%' is not a percentage from 0 to 100"));
  EXPECT_EQ(run({"info", at("f.bwf"), "--rebuild-at", "2%"}).status, 2) << "of what?";
}

TEST_F(UpdateCommandTest, OptionsThatACountingFilterHasNoUseForAreRefused) {
  const std::vector<std::vector<std::string>> cases{{"--known-good", list_},
                                                    {"--exact-side"},
                                                    {"--entries", "5"},
                                                    {"--like", list_},
                                                    {"--force"},
                                                    {"--measure", "5"},
                                                    {"--max-shrink", "5%"},
                                                    {"--allow-out", at("allow")},
                                                    {"--report-marks", at("marks")}};
  for (const auto& option : cases) {
    std::vector<std::string> arguments{"build", "--counting", "-o", at("f.bwc"), list_};
    arguments.insert(arguments.end(), option.begin(), option.end());
    if (option.front() == "--known-good") std::swap(arguments[4], arguments[6]);  // both are lists
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, 2) << option.front();
    EXPECT_THAT(ran.err, HasSubstr(option.front() + ": does not go with --counting"));
    EXPECT_FALSE(std::filesystem::exists(at("f.bwc")));
  }
}

TEST_F(UpdateCommandTest, AStreamedBuildSaysWhatItMeasuredAndWhatItCannotCount) {
  std::string names;
  for (int i = 0; i < 5000; ++i) names += "many" + std::to_string(i) + ".example\n";
  const std::string many = write("many.txt", names);
  const Ran text = run({"build", "-o", at("f.bwf"), "--entries", "5000", "--kinds", "S=1", "--fpr", "0.01", many});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.err, testing::ContainsRegex("error of a request, measured: [0-9,]+ of [0-9,]+ requests"));
  EXPECT_THAT(text.err, HasSubstr("kept, not counted"));
  EXPECT_THAT(run({"info", at("f.bwf")}).out, Not(HasSubstr("not done")));
  const Ran rare = run({"build", "-o", at("rare.bwf"), "--entries", "100", "--kinds", "S=1", list_});
  EXPECT_THAT(rare.err, HasSubstr("measured: not done: it is so rare"));
  const auto json = run({"build", "--json", "-o", at("json.bwf"), "--entries", "100", "--kinds", "S=1", list_}).json();
  EXPECT_TRUE(json["covered"].is_null());
  EXPECT_EQ(json["estimated"], true);
  const auto whole = run({"build", "--json", "-o", at("whole.bwf"), list_}).json();
  EXPECT_EQ(whole["covered"]["hosts"], 0);
}

TEST_F(UpdateCommandTest, CountersOfMarksAreNamedWhereThereAreSome) {
  const std::string urls = write("urls.txt", "http://a.example/x\nhttp://b.example/y\n");
  ASSERT_EQ(run({"build", "-q", "--counting", "-o", at("plain.bwc"), list_}).status, 0);
  ASSERT_EQ(run({"build", "-q", "--counting", "-o", at("marks.bwc"), list_, urls}).status, 0);
  EXPECT_THAT(run({"info", at("plain.bwc")}).out, Not(HasSubstr("marks among")));
  const std::string out = run({"info", at("marks.bwc")}).out;
  const auto hosts = out.find("hosts: "), paths = out.find("paths: ");
  ASSERT_NE(hosts, std::string::npos) << out;
  ASSERT_NE(paths, std::string::npos) << out;
  EXPECT_THAT(out.substr(hosts, paths - hosts), HasSubstr("stuck at 15"));
  EXPECT_THAT(out.substr(hosts, paths - hosts), HasSubstr("those of marks among them"));
  EXPECT_THAT(out.substr(paths), HasSubstr(" 0 stuck at 15 (0.0000 %)"));
}

}  // namespace
}  // namespace bloomwall::filter
