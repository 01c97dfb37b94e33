// SPDX-License-Identifier: Apache-2.0
#include "filter/file/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace bloomwall::filter {
namespace {

TEST(RamBudget, GivesNoMoreThanItHas) {
  RamBudget budget(100);
  EXPECT_TRUE(budget.take(60));
  EXPECT_FALSE(budget.take(41));
  EXPECT_TRUE(budget.take(40)) << "a refusal takes nothing";
  budget.give_back(10);
  EXPECT_TRUE(budget.take(10));
  EXPECT_FALSE(budget.take(1));
  EXPECT_EQ(budget.total(), 100U);
}

TEST(RamBudget, IsSharedByThreads) {
  constexpr int kThreads = 4;
  constexpr int kTakes = 10'000;
  RamBudget budget(kThreads * kTakes);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kTakes; ++i) EXPECT_TRUE(budget.take(1));
      });
    }
  }
  EXPECT_FALSE(budget.take(1));
}

TEST(RamBudget, KnowsWhatTheMachineHas) {
  const auto fitted =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_GT(available_ram(), 0U);
  EXPECT_LE(available_ram(), fitted);
  EXPECT_LT(default_ram_budget(), fitted / 8 * 7 + 1);
}

}  // namespace
}  // namespace bloomwall::filter
