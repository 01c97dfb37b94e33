// Against a plain set of strings: the same lines, in the same order, with any number of threads.
// SPDX-License-Identifier: Apache-2.0
#include "filter/dedup/dedup.h"
#include "filter/dedup/line_slices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_set>

#include "filter/seen/seen_size.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

SeenSet make_seen(std::uint64_t memory) {
  SeriesKey key{};
  key[0] = 7;
  auto seen = SeenSet::create({.geometry = choose_dedup_size({.memory = memory}).value(), .series_key = key});
  EXPECT_TRUE(seen.has_value());
  return std::move(seen).value();
}

class DedupTest : public testing::Test {
 protected:
  std::string run(const std::vector<std::string>& files, unsigned threads, std::uint64_t memory = 16 << 20) {
    SeenSet seen = make_seen(memory);
    std::string out;
    counts_ = {};
    const auto write = [&out](std::string_view lines) {
      out += lines;
      return true;
    };
    const auto done = dedup(files, threads, seen, write, counts_);
    EXPECT_TRUE(done.has_value()) << done.error().text();
    return out;
  }
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }
  test::TempDir dir_;
  DedupCounts counts_;
};

TEST_F(DedupTest, KeepsTheFirstOfEachInOrder) {
  const std::string file = write("f", "b\na\nb\n\na\nc\n\nb");
  EXPECT_EQ(run({file}, 1), "b\na\n\nc\n");
  EXPECT_EQ(counts_.lines_in, 8U);
  EXPECT_EQ(counts_.lines_out, 4U);
  EXPECT_EQ(counts_.distinct(), 4U);
  EXPECT_EQ(counts_.bytes_in, 14U);
  EXPECT_EQ(counts_.bytes_out, 7U);
}

TEST_F(DedupTest, FilesAreOneTextButTheirLinesStayApart) {
  const std::string one = write("one", "a\nb");
  const std::string two = write("two", "c\nb\nd\n");
  EXPECT_EQ(run({one, two, one}, 2), "a\nb\nc\nd\n");
}

TEST_F(DedupTest, SaysTheSameAsASetForAnyNumberOfThreads) {
  std::mt19937_64 random(20260131);  // fixed: the text is the same in every run
  std::string text;
  std::string want;
  std::unordered_set<std::string> seen;
  for (int i = 0; i < 200'000; ++i) {
    const std::string line = fmt::format("http://host{}.example/{:x}", random() % 50, random() % 60'000);
    text += line + '\n';
    if (seen.insert(line).second) want += line + '\n';
  }
  const std::string file = write("urls", text);
  for (const unsigned threads : {1U, 2U, 5U}) {
    EXPECT_TRUE(run({file}, threads, 32 << 20) == want) << threads << " threads";
    EXPECT_EQ(counts_.lines_out, seen.size());
  }
}

TEST_F(DedupTest, ALineTooLongToCompareComesOutEachTime) {
  const std::string big(kMaxDedupLine + 1, 'z');
  const std::string file = write("big", "a\n" + big + "\na\n" + big + "\nb\n");
  EXPECT_TRUE(run({file}, 2) == "a\n" + big + "\n" + big + "\nb\n");
  EXPECT_EQ(counts_.too_long, 2U);
  EXPECT_EQ(counts_.lines_in, 5U);
  EXPECT_EQ(counts_.lines_out, 4U);
  EXPECT_EQ(counts_.distinct(), 2U);
}

TEST_F(DedupTest, WhatCameBeforeAFileThatCannotBeReadIsOut) {
  const std::string file = write("f", "a\na\n");
  SeenSet seen = make_seen(1 << 20);
  std::string out;
  const auto done = dedup(
      {file, "/nowhere/at/all"}, 2, seen,
      [&out](std::string_view lines) {
        out += lines;
        return true;
      },
      counts_);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Errc::io);
  EXPECT_EQ(out, "a\n");
  EXPECT_EQ(counts_.lines_in, 2U);
}

TEST_F(DedupTest, StopsWhereNobodyWantsMore) {
  std::string text;
  for (int i = 0; i < 500'000; ++i) text += fmt::format("line {}\n", i);
  const std::string file = write("f", text);
  SeenSet seen = make_seen(1 << 20);
  int calls = 0;
  const auto done = dedup({file}, 2, seen, [&calls](std::string_view) { return ++calls < 2; }, counts_);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().where, "standard output");
  EXPECT_EQ(calls, 2);
  EXPECT_LT(counts_.lines_in, 500'000U);
}

// A filter that is far too small: the chance to lose a line is what it says, and what the bits say.
TEST_F(DedupTest, LosesAboutAsManyNewLinesAsPredicted) {
  std::string text;
  constexpr std::uint64_t kLines = 300'000;
  for (std::uint64_t i = 0; i < kLines; ++i) text += fmt::format("http://distinct.example/{}\n", i);
  const std::string file = write("f", text);
  constexpr std::uint64_t kMemory = 300 << 10;  // about 8 bits a line
  SeenSet seen = make_seen(kMemory);
  const auto done = dedup({file}, 1, seen, [](std::string_view) { return true; }, counts_);
  ASSERT_TRUE(done.has_value());
  const auto lost = static_cast<double>(kLines - counts_.lines_out);
  const double expected =
      seen_offered(seen.geometry(), counts_.lines_out, 1e9) - static_cast<double>(counts_.lines_out);
  EXPECT_GT(lost, 1000);
  EXPECT_NEAR(lost / expected, 1, 0.1);
  // A line that was lost would not have set another bit, so the bits are those of all lines.
  EXPECT_NEAR(seen.fill() / seen_error(seen.geometry(), kLines), 1, 0.02);
}

}  // namespace
}  // namespace bloomwall::filter
