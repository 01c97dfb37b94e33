// SPDX-License-Identifier: Apache-2.0
#include "filter/parallel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "tests/support/refused_calls.h"

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

TEST(ForEachIndex, TheCallingThreadDoesItAloneWhereThereIsNoOther) {
  const auto work_without_threads = [] {
    if (!test::refuse_calls(test::kThreadCalls, EAGAIN)) ::_exit(2);
    std::vector<std::atomic<int>> calls(1000);
    for_each_index(calls.size(), 7, [&](std::size_t i) { calls[i].fetch_add(1); });
    ::_exit(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n.load() == 1; }) ? 0 : 1);
  };
  EXPECT_EXIT(work_without_threads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace bloomwall::filter
