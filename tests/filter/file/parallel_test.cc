// SPDX-License-Identifier: Apache-2.0
#include "filter/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace bloomwall::filter {
namespace {

TEST(ForEachIndex, CallsEachOnceWhateverTheNumberOfThreads) {
  for (const unsigned threads : {0U, 1U, 2U, 7U, 100U}) {
    for (const std::size_t count : {0U, 1U, 5U, 1000U}) {
      std::vector<std::atomic<int>> calls(count);
      for_each_index(count, threads, [&](std::size_t i) { calls[i].fetch_add(1); });
      for (const auto& n : calls) EXPECT_EQ(n.load(), 1) << threads << " threads, " << count;
    }
  }
}

}  // namespace
}  // namespace bloomwall::filter
