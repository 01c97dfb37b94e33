// What `build`, `info` and `plan` say of errors: on the worst host beside p99, and of raw keys.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using bloomwall::test::Ran;
using bloomwall::test::run;
using testing::HasSubstr;
using testing::Not;

class PredictionsTest : public testing::Test {
 protected:
  // 300 hosts with one URL each; the last of them has a query and directories of four depths besides.
  std::string skewed() {
    std::string text;
    for (int i = 0; i < 300; ++i) text += fmt::format("http://h{}.example/listed\n", i);
    return dir_
        .write("urls", text +
                           "http://h299.example/a?q\nhttp://h299.example/a/\nhttp://h299.example/a/b/\n"
                           "http://h299.example/a/b/c/\nhttp://h299.example/a/b/c/d/\n")
        .string();
  }
  std::string raw(int keys = 5000) {
    std::string text;
    for (int i = 0; i < keys; ++i) text += fmt::format("user{}@example.com\n", i);
    return dir_.write("addresses", text).string();
  }
  test::TempDir dir_;
  const std::string filter_ = (dir_.path() / "f.bwf").string();
};

TEST_F(PredictionsTest, TheWorstHostIsStatedBesideP99) {
  const std::string list = skewed();
  const Ran built = run({"build", "-o", filter_, list});
  ASSERT_EQ(built.status, 0) << built.err;
  EXPECT_THAT(built.err, HasSubstr("error of a request on the worst host, predicted: one in "));
  EXPECT_THAT(built.err, HasSubstr(", of a request that asks 6 host keys and 6 URL keys\n"));
  const Ran info = run({"info", filter_});
  EXPECT_THAT(info.out, HasSubstr("  worst host      one in "));
  EXPECT_THAT(info.out, HasSubstr("asks 6 host keys and 6 URL keys: where one has 6 marks that occur\n"));
  EXPECT_THAT(info.out, HasSubstr("at p99, 8.0 questions, 4 of URL keys\n")) << "what plan --asks takes";
  const auto from_build = run({"build", "--json", "-o", filter_, list}).json()["header"]["predicted"]["worst_host"];
  const auto from_info = run({"info", "--json", filter_}).json()["predicted"]["worst_host"];
  EXPECT_EQ(from_build, from_info) << "here a host has every mark";
  EXPECT_EQ(from_build["path_questions"], 6);
  const Ran streamed = run({"build", "-o", filter_, "--entries", "400", list});
  EXPECT_THAT(streamed.err, HasSubstr("on the worst host, predicted: at most one in ")) << "nobody counts its hosts";
}

TEST_F(PredictionsTest, FprOfWorstSizesForTheWorstHost) {
  const std::string list = skewed();
  ASSERT_EQ(run({"build", "-q", "-o", filter_, "--fpr", "1e-6", "--fpr-of", "worst", list}).status, 0);
  EXPECT_LE(run({"info", "--json", filter_}).json()["predicted"]["worst_host"]["error"].get<double>(), 1e-6);
  const auto chosen = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"plan", "--json", "--entries", "1M", "--fpr", "1e-4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments).json()["rows"][3];
  };
  EXPECT_GT(chosen({})["predicted"]["worst_host"]["error"].get<double>(), 1e-4);
  const auto worst = chosen({"--fpr-of", "worst"});
  EXPECT_LE(worst["predicted"]["worst_host"]["error"].get<double>(), 1e-4);
  EXPECT_GT(worst["file_bytes"], chosen({})["file_bytes"]);
  EXPECT_GT(worst["file_bytes"], chosen({"--fpr-of", "worst", "--asks", "5"})["file_bytes"]);
  EXPECT_GT(chosen({"--asks", "18"})["file_bytes"], chosen({"--asks", "5"})["file_bytes"]);
  EXPECT_THAT(run({"plan", "--entries", "1M"}).out,
              HasSubstr("\nOn the worst host that there may be it errs on one in"));
  for (const char* asks : {"0", "65536"}) {
    EXPECT_EQ(run({"plan", "--entries", "1M", "--asks", asks}).status, 2) << asks;
    EXPECT_EQ(run({"build", "-q", "-o", filter_, "--entries", "1k", "--asks", asks, list}).status, 2) << asks;
  }
  EXPECT_THAT(run({"plan", "--entries", "1M", "--fpr-of", "best"}).err, HasSubstr("'best' is neither p99 nor worst"));
}

TEST_F(PredictionsTest, FalseMarksMayBeMoreWhereNothingIsDecrypted) {
  const auto bytes = [](const char* rate) {
    return run({"plan", "--json", "--entries", "1M", "--hosts", "500k", "--fpr", "1e-2", "--false-marks", rate})
        .json()["rows"][3]["file_bytes"]
        .get<double>();
  };
  EXPECT_LT(bytes("0.1"), 0.9 * bytes("1e-4"));
  std::string list = skewed();
  ASSERT_EQ(run({"build", "-q", "-o", filter_, "--fpr", "1e-2", "--false-marks", "1e-6", list}).status, 0);
  EXPECT_LE(run({"info", "--json", filter_}).json()["predicted"]["false_marks"].get<double>(), 1e-6);
}

TEST_F(PredictionsTest, AKeyThatIsNoUrlIsAskedOnce) {
  const Ran built = run({"build", "--raw", "--memory", "30kB", "--measure", "50k", "-o", filter_, raw()});
  ASSERT_EQ(built.status, 0) << built.err;
  EXPECT_THAT(built.err, Not(HasSubstr("unlisted host")));
  EXPECT_THAT(built.err, Not(HasSubstr("never")));
  EXPECT_THAT(built.err, HasSubstr("error of a question for a raw key, predicted: one in "));
  EXPECT_THAT(built.err, HasSubstr("error of a question, measured: "));
  EXPECT_THAT(built.err, HasSubstr(" of 50,000 questions"));
  const Ran info = run({"info", filter_});
  EXPECT_THAT(info.out, Not(HasSubstr("host ")));
  EXPECT_THAT(info.out, HasSubstr(" of 50,000 questions"));
  const auto header = run({"info", "--json", filter_}).json();
  const double predicted = header["predicted"]["raw_key"];
  const double measured = header["measured"]["hits"].get<double>() / 50'000;
  EXPECT_NEAR(measured, predicted, 4 * std::sqrt(predicted / 50'000));
  EXPECT_EQ(header["predicted"]["worst_host"]["error"], predicted);

  const Ran plan = run({"plan", "--raw", "--entries", "100M", "--memory", "200MB"});
  EXPECT_THAT(plan.out, Not(HasSubstr("0.00e+00")));
  EXPECT_THAT(plan.out, Not(HasSubstr("asked 0")));
  EXPECT_THAT(plan.out, Not(HasSubstr("hosts,")));
  EXPECT_THAT(plan.out, HasSubstr("A raw key is asked once, so the error of a key is that of a question.\n"));
  EXPECT_EQ(plan.out, run({"plan", "--entries", "100M", "--kinds", "R=1", "--memory", "200MB"}).out);
}

// What `plan --raw` says is what `build --raw` makes, and what questions find.
TEST_F(PredictionsTest, APlanOfRawKeysIsWhatABuildMakes) {
  const std::string list = raw(100'000);
  const std::vector<std::vector<std::string>> targets{
      {"--fpr", "1e-3"}, {"--fpr", "1e-5"}, {"--memory", "200kB"}, {"--memory", "300kB", "--fpr", "1e-2"}};
  for (const std::vector<std::string>& target : targets) {
    const std::string what = fmt::format("{}", fmt::join(target, " "));
    std::vector<std::string> plan{"plan", "--json", "--raw", "--entries", "100k"};
    std::vector<std::string> build{"build", "--json", "--raw", "--measure", "200k", "-o", filter_, list};
    plan.insert(plan.end(), target.begin(), target.end());
    build.insert(build.end(), target.begin(), target.end());
    const auto planned = run(plan).json()["rows"][3];
    const Ran ran = run(build);
    ASSERT_EQ(ran.status, 0) << what << ": " << ran.err;
    const auto built = run({"info", "--json", filter_}).json();
    const double error = planned["predicted"]["raw_key"];
    // A page of bits less, for the names of the lists, is a fifth of the error of so small a file.
    EXPECT_NEAR(built["predicted"]["raw_key"].get<double>() / error, 1, 0.25) << what;
    EXPECT_NEAR(built["measured"]["hits"].get<double>() / 200'000, error, 0.25 * error + 5 * std::sqrt(error / 200'000))
        << what;
    const double size = planned["file_bytes"];
    EXPECT_NEAR(static_cast<double>(std::filesystem::file_size(filter_)) / size, 1, 0.05) << what;
  }
}

TEST_F(PredictionsTest, WhatIsOfUrlsIsNotOfRawKeys) {
  for (const char* const option : {"--hosts", "--marks", "--asks"}) {
    EXPECT_EQ(run({"plan", "--raw", "--entries", "1M", option, "5"}).status, 2) << option;
  }
  EXPECT_EQ(run({"plan", "--raw", "--entries", "1M", "--kinds", "S=1"}).status, 2);
}

TEST_F(PredictionsTest, WhereThe35BitsEndTheExactSideIsNamed) {
  const std::string list = skewed();
  const Ran plan = run({"plan", "--entries", "10M", "--fpr", "1e-8"});
  EXPECT_EQ(plan.status, 0);
  EXPECT_THAT(plan.out, HasSubstr("\nTo know: an error of 1.00e-08 takes 4"));
  EXPECT_THAT(plan.out, HasSubstr("`--fpr 1e-04 --exact-side` makes "));
  EXPECT_EQ(run({"plan", "--json", "--entries", "10M", "--fpr", "1e-8"}).json()["exact_side"]["fpr"], 1e-4);
  EXPECT_THAT(run({"plan", "--entries", "10M", "--fpr", "1e-6"}).out, Not(HasSubstr("--exact-side")));
  const char* const says = "warning: an error of 1.00e-09 takes ";
  EXPECT_THAT(run({"build", "-q", "-o", filter_, "--fpr", "1e-9", list}).err, HasSubstr(says));
  EXPECT_THAT(run({"build", "-q", "-o", filter_, "--fpr", "1e-9", "--entries", "400", list}).err, HasSubstr(says));
  EXPECT_EQ(run({"build", "-q", "-o", filter_, "--fpr", "1e-9", "--exact-side", list}).err, "");
  EXPECT_EQ(run({"build", "-q", "-o", filter_, "--fpr", "1e-6", list}).err, "");
  EXPECT_THAT(run({"build", "-q", "-o", filter_, "--fpr", "1e-10", list}).err,
              HasSubstr("is not offered; an error of 1.00e-10 is out of reach where URL keys have 35 bits; `--fpr"));
}

}  // namespace
}  // namespace bloomwall::filter
