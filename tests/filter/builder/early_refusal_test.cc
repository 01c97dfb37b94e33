// A streamed build whose sizes can't suffice any more ends at once, and one whose sizes will not suffice is warned of.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "filter/builder/builder.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// `lines` of text made by `line`, counted as they are asked for.
class CountedLines final : public BlockSource {
 public:
  using Line = std::string (*)(std::uint64_t);
  CountedLines(Line line, std::uint64_t lines, std::atomic<std::uint64_t>& asked)
      : line_(line), lines_(lines), asked_(asked) {}
  Result<bool> next(LineBlock& block) override {
    constexpr std::uint64_t kStep = 500;
    const std::uint64_t begin = asked_.fetch_add(kStep);
    block.text.clear();
    for (std::uint64_t i = begin; i < std::min(begin + kStep, lines_); ++i) block.text += line_(i);
    return begin < lines_;
  }
  Position position() const override { return {.done = asked_.load(), .total = lines_}; }

 private:
  Line line_;
  std::uint64_t lines_;
  std::atomic<std::uint64_t>& asked_;
};

std::string one_of_fifty(std::uint64_t i) { return fmt::format("http://h{}.example/p{}\n", i / 50, i); }
// Three marks on each host, and a host in whole now and then, so that H is asked for more than marks.
std::string many_marks(std::uint64_t i) {
  constexpr std::array kEnds{"p", "p?q", "p/"};
  return i % 30 == 0 ? fmt::format("http://s{}.example/\n", i)
                     : fmt::format("http://h{}.example/{}\n", i / 3, kEnds[i % 3]);
}

class EarlyRefusalTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kLines = 2'000'000;
  BuildOptions options(CountedLines::Line line, std::uint64_t lines) {
    BuildOptions o;
    o.output = dir_.path() / "out.bwf";
    o.generated = {{.name = "counted", .open = [=, this]() -> Result<std::unique_ptr<BlockSource>> {
                      asked_ = 0;
                      return std::make_unique<CountedLines>(line, lines, asked_);
                    }}};
    o.identity.series_key_file = dir_.write("key", std::string(64, 'a'));
    o.target = {.fpr = 1e-4};
    o.threads = 2;
    o.ram_bytes = std::uint64_t{64} << 20;
    return o;
  }
  Result<void> run(const BuildOptions& o) {
    warnings_.clear();
    BuildReport report;
    return build(o, report, [this](const BuildProgress& progress) {
      if (!progress.warning.empty()) warnings_.push_back(progress.warning);
    });
  }
  test::TempDir dir_;
  std::atomic<std::uint64_t> asked_ = 0;
  std::vector<std::string> warnings_;
};

TEST_F(EarlyRefusalTest, MoreEntriesThanExpectedEndTheBuildAtOnce) {
  BuildOptions o = options(one_of_fifty, kLines);
  o.expected = PlanRequest{.entries = 100'000, .kinds = {0, 0, 0, 1, 0, 0, 0}};
  const auto ok = run(o);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, Errc::unmet_target);
  EXPECT_THAT(ok.error().what, HasSubstr("marks so far came, and a request would err at "));
  EXPECT_GT(asked_, 100'000U);
  EXPECT_LT(asked_, 200'000U) << "of 2,000,000";
  EXPECT_FALSE(std::filesystem::exists(o.output));
}

TEST_F(EarlyRefusalTest, SoDoMoreMarks) {
  BuildOptions o = options(many_marks, kLines);
  o.expected = PlanRequest{.entries = kLines, .hosts = kLines / 50, .kinds = {1, 0, 0, 9, 10, 10, 0}};
  const auto ok = run(o);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, Errc::unmet_target);
  EXPECT_LT(asked_, kLines / 4) << "entries are as many as expected, their hosts are not";
}

TEST_F(EarlyRefusalTest, RawKeysToo) {
  BuildOptions o = options(one_of_fifty, kLines);
  o.raw = true;
  o.expected = PlanRequest{.entries = 100'000};
  EXPECT_FALSE(run(o));
  EXPECT_LT(asked_, 200'000U);
}

TEST_F(EarlyRefusalTest, WhoForcesItWaitsForTheEnd) {
  BuildOptions o = options(one_of_fifty, 300'000);
  o.expected = PlanRequest{.entries = 100'000, .kinds = {0, 0, 0, 1, 0, 0, 0}};
  o.force = true;
  EXPECT_TRUE(run(o));
  EXPECT_GE(asked_, 300'000U);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(EarlyRefusalTest, AProjectionThatPassesIsWarnedOfOnce) {
  BuildOptions o = options(one_of_fifty, 400'000);
  o.threads = 1;
  o.expected = PlanRequest{.entries = 200'000, .kinds = {0, 0, 0, 1, 0, 0, 0}};
  EXPECT_FALSE(run(o));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("if the rest is like that, a request will err at ")));
}

TEST_F(EarlyRefusalTest, WhatFitsIsTakenWithoutAWord) {
  for (const double size : {1.0, 2.0}) {
    BuildOptions o = options(one_of_fifty, 200'000);
    o.expected = PlanRequest{.entries = static_cast<std::uint64_t>(200'000 * size), .kinds = {0, 0, 0, 1, 0, 0, 0}};
    const auto ok = run(o);
    EXPECT_TRUE(ok) << ok.error().text();
    EXPECT_THAT(warnings_, IsEmpty());
  }
}

// Of lists that are files the share is that of their octets.
TEST_F(EarlyRefusalTest, OfFilesItIsKnownHowMuchIsRead) {
  const auto text = [](std::uint64_t first, std::uint64_t last) {
    std::string out;
    for (std::uint64_t i = first; i < last; ++i) out += one_of_fifty(i);
    return out;
  };
  BuildOptions o = options(one_of_fifty, 0);
  o.generated.clear();
  o.lists = {dir_.write("a", text(0, 60'000)).string(), dir_.write("b", text(60'000, 200'000)).string()};
  o.threads = 1;
  o.expected = PlanRequest{.entries = 130'000, .kinds = {0, 0, 0, 1, 0, 0, 0}};
  EXPECT_FALSE(run(o));
  ASSERT_EQ(warnings_.size(), 1U);
  o.expected->entries = 200'000;
  EXPECT_TRUE(run(o));
  EXPECT_THAT(warnings_, IsEmpty());
}

}  // namespace
}  // namespace bloomwall::filter
