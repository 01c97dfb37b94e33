// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/ingest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace bloomwall::filter {
namespace {

// Hands out blocks that hold nothing but their number; fails after `fails_after` of them.
class Numbered final : public BlockSource {
 public:
  explicit Numbered(std::uint64_t blocks, std::uint64_t fails_after = ~std::uint64_t{0})
      : blocks_(blocks), fails_after_(fails_after) {}
  Result<bool> next(LineBlock& block) override {
    const std::uint64_t number = given_.fetch_add(1) + 1;
    if (number > fails_after_) return unexpected(Error{Errc::io, "disk", "broken"});
    block.first_line = number;
    return number <= blocks_;
  }
  Position position() const override { return {.done = given_.load(), .total = blocks_}; }

 private:
  std::uint64_t blocks_, fails_after_;
  std::atomic<std::uint64_t> given_ = 0;
};

TEST(RunBlocks, ParsesEveryBlockOnceWithAnyNumberOfWorkers) {
  for (const unsigned workers : {1U, 2U, 5U}) {
    constexpr std::uint64_t kBlocks = 1000;
    Numbered source(kBlocks);
    std::vector<std::vector<std::uint64_t>> seen(workers);
    const auto ok = run_blocks(
        source, workers, {.parse = [&](unsigned w, const LineBlock& block) { seen[w].push_back(block.first_line); }});
    ASSERT_TRUE(ok);
    std::vector<std::uint64_t> all;
    for (const auto& part : seen) {
      EXPECT_TRUE(std::is_sorted(part.begin(), part.end())) << "a worker meets its blocks in order";
      all.insert(all.end(), part.begin(), part.end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), kBlocks);
    for (std::uint64_t i = 0; i < kBlocks; ++i) EXPECT_EQ(all[i], i + 1);
  }
}

TEST(RunBlocks, WorkerZeroIsTheCaller) {
  for (const unsigned workers : {1U, 3U}) {
    Numbered source(100);
    const auto caller = std::this_thread::get_id();
    ASSERT_TRUE(run_blocks(source, workers, {.parse = [&](unsigned w, const LineBlock&) {
                             EXPECT_EQ(std::this_thread::get_id() == caller, w == 0);
                           }}));
  }
}

TEST(RunBlocks, AnErrorOfTheSourceEndsItAfterWhatCameBefore) {
  for (const unsigned workers : {1U, 3U}) {
    Numbered source(1000, 50);
    std::atomic<std::uint64_t> parsed = 0;
    const auto ok = run_blocks(source, workers, {.parse = [&](unsigned, const LineBlock&) { parsed.fetch_add(1); }});
    ASSERT_FALSE(ok);
    EXPECT_EQ(ok.error().where, "disk");
    EXPECT_EQ(parsed.load(), 50U);
  }
}

TEST(RunBlocks, WhatIsAskedBeforeABlockMayEndIt) {
  for (const unsigned workers : {1U, 3U}) {
    Numbered source(1'000'000);
    std::atomic<std::uint64_t> parsed = 0;
    const auto ok = run_blocks(source, workers,
                               {.parse = [&](unsigned, const LineBlock&) { parsed.fetch_add(1); },
                                .before = [&](unsigned) -> Result<void> {
                                  if (parsed.load() < 10) return {};
                                  return unexpected(Error{Errc::limit, "memory", "full"});
                                }});
    ASSERT_FALSE(ok);
    EXPECT_EQ(ok.error().code, Errc::limit);
    EXPECT_LT(parsed.load(), 10U + workers);
  }
}

TEST(RunBlocks, EveryWorkerEndsOnce) {
  Numbered source(50);
  std::vector<std::atomic<int>> ended(4);
  ASSERT_TRUE(run_blocks(source, 4,
                         {.parse = [&](unsigned w, const LineBlock&) { EXPECT_EQ(ended[w], 0); },
                          .before = {},
                          .end = [&](unsigned w) { ++ended[w]; }}));
  for (unsigned w = 0; w < 4; ++w) EXPECT_EQ(ended[w], 1) << w;
}

}  // namespace
}  // namespace bloomwall::filter
