// `dedup --state` and `--urls` through the command line: what one run saw the next one drops, and a state is as it was
// unless all went well.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "tests/filter/cli/run.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::Ran;
using test::run;
using testing::HasSubstr;

class DedupState : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }
  std::string bytes() const {
    std::ifstream file(state_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Of this text, unless that is empty.
  Ran dedup(const std::string& input, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"dedup", "--state", state_});
    if (!input.empty()) more.push_back(write("input", input));
    return run(more);
  }
  test::TempDir dir_;
  const std::string state_ = at("seen.bwf");
};

TEST_F(DedupState, WhatOneRunSawTheNextOneDrops) {
  EXPECT_EQ(dedup("a\nb\na\n", {"--entries", "1000"}).out, "a\nb\n");
  const Ran second = dedup("b\nc\n");
  EXPECT_EQ(second.out, "c\n");
  EXPECT_THAT(second.err, HasSubstr("state: " + state_ + ", 3 distinct lines in it, 1 of them new, sequence 2"));
  EXPECT_EQ(dedup("a\nb\nc\n", {"--json"}).out, "");
  EXPECT_EQ(dedup("d\n", {"--entries", "1000"}).out, "d\n") << "the options that made it fit";
}

TEST_F(DedupState, IsAFilterOfRawKeys) {
  ASSERT_EQ(dedup("a\nb\na\n", {"--entries", "1000"}).status, 0);
  EXPECT_EQ(run({"verify", state_}).out, state_ + ": ok\n");
  EXPECT_EQ(run({"query", "--raw", state_, "a", "z"}).out, "listed\ta\ta\nclear\tz\n");
  const auto info = run({"info", "--json", state_}).json();
  EXPECT_EQ(info["kinds"]["R"]["entries"], 3);
  EXPECT_EQ(info["kinds"]["R"]["keys"], 2);
  const std::string list = write("list", "known\n");
  ASSERT_EQ(run({"build", "-q", "--raw", "-o", at("built.bwf"), list}).status, 0);
  EXPECT_EQ(run({"dedup", "--state", at("built.bwf"), write("both", "known\nnew\n")}).out, "new\n")
      << "and such a filter is a state";
}

TEST_F(DedupState, UrlsAreComparedByWhatTheyName) {
  const std::string input =
      "http://A.example/a/../b\nhttp://a.example:80/b#x\nhttps://a.example/b\r\nno url\nno url\nhttp://a.example/B\n";
  const Ran ran = dedup(input, {"--urls", "--entries", "1000"});
  EXPECT_EQ(ran.out, "http://A.example/a/../b\nno url\nhttp://a.example/B\n") << "lines come out as they are";
  EXPECT_THAT(ran.err, HasSubstr("no URLs, compared octet by octet: 2"));
  EXPECT_EQ(dedup("HTTP://a.example/%62\n", {"--urls"}).out, "");
  EXPECT_EQ(run({"query", "--raw", state_, "a.example/b"}).status, 1) << "keys are canonical texts";
  EXPECT_THAT(run({"info", state_}).out, HasSubstr("--urls"));
  EXPECT_EQ(run({"dedup", "-q", "--urls", write("two", "http://a.example/\nhttp://A.example\n")}).out,
            "http://a.example/\n");
}

TEST_F(DedupState, ThatDoesNotFitTheOptionsIsRefusedAndStays) {
  ASSERT_EQ(dedup("a\n", {"--memory", "1MB"}).status, 0);
  const std::string before = bytes();
  const std::string key = write("key", std::string(64, 'b'));
  const struct {
    std::vector<std::string> options;
    const char* says;
  } kCases[] = {{{"--memory", "2MB"}, "leave them out to go on with it, or name another file"},
                {{"--entries", "1M"}, "leave them out to go on with it, or name another file"},
                {{"--urls"}, "leave --urls out to go on with it"},
                {{"--series-key", key}, "has another series key"}};
  for (const auto& [options, says] : kCases) {
    const Ran ran = dedup("b\n", options);
    EXPECT_EQ(ran.status, 2) << options[0];
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(says));
    EXPECT_EQ(bytes(), before);
  }
  EXPECT_EQ(dedup("b\n", {"--memory", "1MB"}).out, "b\n");
}

TEST_F(DedupState, ThatIsNoneIsRefusedWithWhatToDo) {
  const std::string list = write("list", "bad.example\n");
  const auto refused = [&](const char* says) {
    const std::string before = bytes();
    const Ran ran = dedup("a\n");
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(says));
    EXPECT_THAT(ran.err, HasSubstr("put a copy of it back, or name another file"));
    EXPECT_EQ(bytes(), before);
  };
  ASSERT_EQ(run({"build", "-q", "-o", state_, list}).status, 0);
  refused("holds no raw keys");
  std::filesystem::remove(state_);
  write("seen.bwf", "a\nb\n");
  refused("is no filter");
  std::filesystem::remove(state_);
  ASSERT_EQ(dedup("a\n", {"--entries", "1000"}).status, 0);
  const std::string whole = bytes();
  for (const std::size_t place : {std::size_t{50}, std::size_t{5000}}) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    write("seen.bwf", damaged);
    refused("");
  }
  write("seen.bwf", whole.substr(0, whole.size() - 100));
  refused("");
  ASSERT_EQ(run({"keygen", at("k")}).status, 0);
  write("seen.bwf", whole);
  ASSERT_EQ(run({"sign", state_, "--key", at("k")}).status, 0);
  refused("is signed");
}

TEST_F(DedupState, StaysAsItWasWhereNotAllWasReadOrWritten) {
  ASSERT_EQ(dedup("a\n", {"--entries", "1000"}).status, 0);
  const std::string before = bytes();
  const Ran ran = dedup("", {write("f", "b\n"), "/nowhere"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "b\n");
  EXPECT_THAT(ran.err, HasSubstr("is as it was: the next run prints again what this one has printed"));
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(dedup("", {write("g", "b\n")}).out, "b\n");
}

TEST_F(DedupState, ThatCannotBeSavedIsRefusedBeforeAnythingIsPrinted) {
  for (const std::string& place : {std::string("/nowhere/seen.bwf"), at(std::string(250, 'n')), std::string()}) {
    const Ran ran = run({"dedup", "--state", place, "--entries", "1000", write("f", "b\n")});
    EXPECT_EQ(ran.status, 2) << place;
    EXPECT_EQ(ran.out, "") << place;
  }
}

// Of two runs at once one would lose what the other saw.
TEST_F(DedupState, ThatAnotherRunHasSavedMeanwhileIsNotReplaced) {
  ASSERT_EQ(dedup("a\n", {"--entries", "1000"}).status, 0);
  const std::string fifo = at("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Ran slow;
  std::jthread other([&] { slow = dedup("", {fifo}); });
  std::ofstream writer(fifo);  // once it is open the other run has read the state
  ASSERT_EQ(dedup("b\n").status, 0);
  const std::string saved = bytes();
  writer << "c\n";
  writer.close();
  other.join();
  EXPECT_EQ(slow.status, 2);
  EXPECT_EQ(slow.out, "c\n");
  EXPECT_EQ(bytes(), saved);
}

TEST_F(DedupState, ManyRunsDropWhatASetWouldDrop) {
  std::mt19937 random(7);  // fixed: the lines are the same in every run
  std::unordered_set<std::string> seen;
  for (int round = 0; round < 5; ++round) {
    std::string input, expected;
    for (int i = 0; i < 2000; ++i) {
      const std::string line = fmt::format("line {}\n", random() % 5000);
      input += line;
      if (seen.insert(line).second) expected += line;
    }
    EXPECT_EQ(dedup(input, {"--entries", "10k", "--fpr", "1e-9"}).out, expected) << "round " << round;
  }
}

// What was lost is estimated by the lines that came, not only by those that were taken.
TEST_F(DedupState, OfAnOverfullSetTheLossIsNamed) {
  std::string lines;
  for (int i = 0; i < 60'000; ++i) lines += fmt::format("line {}\n", i);
  const Ran ran = run({"dedup", "--memory", "40960", "--json", write("lines", lines)});
  const auto json = nlohmann::json::parse(ran.err.substr(0, ran.err.rfind('}') + 1));
  const double lost = 60'000.0 - json["lines_out"].get<double>();
  EXPECT_GT(lost, 3000);
  EXPECT_NEAR(json["expected_lost"].get<double>() / lost, 1, 0.05);
  EXPECT_EQ(ran.status, 1) << "also where nobody named a rate";
  EXPECT_THAT(ran.err, HasSubstr("more lines came than the filter holds at 1.00e-04"));
}

}  // namespace
}  // namespace bloomwall::filter
