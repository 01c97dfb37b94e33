// SPDX-License-Identifier: Apache-2.0
#include "filter/build/block_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace bloomwall::filter {
namespace {

// Hands out blocks that hold nothing but their number.
NextBlock numbered(std::uint64_t blocks, std::uint64_t& given) {
  return [blocks, &given](LineBlock& block) -> Result<bool> {
    if (given == blocks) return false;
    block.first_line = ++given;
    return true;
  };
}

TEST(RunBlocks, ParsesEveryBlockOnceWithAnyNumberOfWorkers) {
  for (const unsigned workers : {1U, 2U, 5U}) {
    constexpr std::uint64_t kBlocks = 1000;
    std::uint64_t given = 0;
    std::vector<std::vector<std::uint64_t>> seen(workers);
    const auto ok = run_blocks(numbered(kBlocks, given), workers,
                               [&](unsigned w, const LineBlock& block) { seen[w].push_back(block.first_line); });
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

TEST(RunBlocks, OneWorkerIsTheCaller) {
  std::uint64_t given = 0;
  const auto caller = std::this_thread::get_id();
  ASSERT_TRUE(run_blocks(numbered(3, given), 1,
                         [&](unsigned, const LineBlock&) { EXPECT_EQ(std::this_thread::get_id(), caller); }));
  EXPECT_EQ(given, 3U);
}

TEST(RunBlocks, AnErrorOfTheReaderEndsItAfterWhatCameBefore) {
  for (const unsigned workers : {1U, 3U}) {
    std::uint64_t given = 0;
    std::atomic<std::uint64_t> parsed = 0;
    const NextBlock next = [&](LineBlock&) -> Result<bool> {
      if (given == 50) return unexpected(Error{Errc::io, "disk", "broken"});
      ++given;
      return true;
    };
    const auto ok = run_blocks(next, workers, [&](unsigned, const LineBlock&) { parsed.fetch_add(1); });
    ASSERT_FALSE(ok);
    EXPECT_EQ(ok.error().where, "disk");
    EXPECT_EQ(parsed.load(), 50U);
  }
}

TEST(RunBlocks, MemoryIsTwoBlocksAWorker) {
  std::uint64_t given = 0;
  std::vector<const char*> buffers;
  const NextBlock next = [&](LineBlock& block) -> Result<bool> {
    if (given++ == 200) return false;
    if (block.text.capacity() < 1000) block.text.reserve(1000);  // a fresh one
    buffers.push_back(block.text.data());
    return true;
  };
  ASSERT_TRUE(run_blocks(next, 2, [](unsigned, const LineBlock&) {}));
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  EXPECT_LE(buffers.size(), 4U);
}

}  // namespace
}  // namespace bloomwall::filter
