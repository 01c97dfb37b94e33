// The commands where the system gives no threads (limits on tasks): builds and merges do all of it on the thread that
// they have, and what can't be done so says why.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tests/filter/cli/run.h"
#include "tests/support/refused_calls.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using bloomwall::test::Ran;
using bloomwall::test::run;

class WithoutThreads : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string list(int number) const {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += fmt::format("http://h{}.example/{}/{}\n", i % 20, number, i);
    return dir_.write(fmt::format("list{}.txt", number), text).string();
  }
  // In a child, which ends with it.
  static void expect(const std::vector<std::string>& arguments, int status, const std::string& says = {}) {
    const Ran ran = run(arguments);
    if (ran.status == status && ran.err.find(says) != std::string::npos) return;
    std::fprintf(stderr, "%s: %d\n%s", arguments.front().c_str(), ran.status, ran.err.c_str());
    ::_exit(1);
  }
  static void refuse_threads() {
    if (!bloomwall::test::refuse_calls(bloomwall::test::kThreadCalls, EAGAIN)) ::_exit(2);
  }
  bloomwall::test::TempDir dir_;
};

TEST_F(WithoutThreads, ABuildIsCollected) {
  const auto one = list(1);
  const auto all = [&] {
    refuse_threads();
    expect({"build", "-q", "--threads", "4", "--exact-side", "-o", at("f.bwf"), one}, 0);
    expect({"query", at("f.bwf"), "http://h1.example/1/1"}, 1);
    expect({"verify", at("f.bwf")}, 0);
    ::_exit(0);
  };
  EXPECT_EXIT(all(), testing::ExitedWithCode(0), "");
}

TEST_F(WithoutThreads, ShardsAreStreamedAndMerged) {
  const std::string key = dir_.write("key", std::string(64, 'c')).string();
  const std::vector<std::string> lists{list(0), list(1)};
  const auto all = [&] {
    refuse_threads();
    for (const std::string& one : lists) {
      expect({"build", "-q", "--threads", "4", "--series-key", key, "--entries", "50k", "--kinds", "U=1", "-o",
              one + ".bwf", one},
             0);
    }
    expect({"merge", "-o", at("all.bwf"), lists[0] + ".bwf", lists[1] + ".bwf"}, 0);
    for (const char* url : {"http://h1.example/0/1", "http://h1.example/1/1"}) expect({"query", at("all.bwf"), url}, 1);
    ::_exit(0);
  };
  EXPECT_EXIT(all(), testing::ExitedWithCode(0), "");
}

TEST_F(WithoutThreads, ACountingFilterIsBuiltAndChanged) {
  const std::vector<std::string> lists{list(0), list(1)};
  const auto all = [&] {
    refuse_threads();
    expect({"build", "-q", "--threads", "4", "--counting", "-o", at("f.bwc"), lists[0]}, 0);
    expect({"update", "-q", at("f.bwc"), "--add", lists[1]}, 0);
    expect({"emit", at("f.bwc"), "-o", at("f.bwf")}, 0);
    expect({"query", at("f.bwf"), "http://h1.example/1/1"}, 1);
    ::_exit(0);
  };
  EXPECT_EXIT(all(), testing::ExitedWithCode(0), "");
}

TEST_F(WithoutThreads, DedupSaysThatItNeedsThem) {
  const auto one = list(1);
  const auto all = [&] {
    refuse_threads();
    expect({"dedup", "--entries", "50k", one}, 2, "the system cannot start two more threads");
    ::_exit(0);
  };
  EXPECT_EXIT(all(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace bloomwall::filter
