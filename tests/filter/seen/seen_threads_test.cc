// Many threads at one set, while checkpoints are written.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "tests/filter/seen/seen_maker.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

constexpr unsigned kThreads = 8;

// All threads add the same keys in the same order, so that they meet at each of them.
TEST(SeenThreads, ExactlyOneIsToldThatAKeyIsNew) {
  constexpr std::uint64_t kKeys = 60'000;
  SeenSet seen = make_set(kKeys, 1e-12);
  std::vector<std::atomic<unsigned>> told(kKeys);
  std::latch begin(kThreads);
  const auto run = [&] {
    begin.arrive_and_wait();
    for (std::uint64_t i = 0; i < kKeys; ++i) told[i] += add(seen, key_number(i)) == Added::fresh ? 1U : 0U;
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(run);
  }
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(told[i], 1U) << i;
  EXPECT_EQ(seen.counts().keys, kKeys);
  EXPECT_EQ(seen.counts().entries, kKeys * kThreads);
}

TEST(SeenThreads, TogetherTheyTakeAsManyAsWerePromised) {
  constexpr std::uint64_t kPromised = 50'000;
  SeenSet seen = make_set(kPromised, 1e-9);
  ASSERT_TRUE(seen.promise({.keys = kPromised, .error = 1e-9}).has_value());
  std::atomic<std::uint64_t> taken = 0;
  std::atomic<std::uint64_t> refused = 0;
  const auto run = [&](unsigned number) {
    for (std::uint64_t i = 0; i < kPromised / 4; ++i) {
      const Added added = add(seen, std::to_string(number) + "/" + std::to_string(i));
      (added == Added::full ? refused : taken) += added == Added::seen ? 0U : 1U;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(run, i);
  }
  EXPECT_EQ(taken, kPromised);
  EXPECT_EQ(refused, kPromised);
}

// What was added before a checkpoint began is in it, and each file that can be seen is whole.
TEST(SeenThreads, CheckpointsHoldAllThatCameBeforeThem) {
  const test::TempDir dir;
  const auto file = dir.path() / "visited.bwf";
  constexpr std::uint64_t kKeys = 40'000;
  constexpr unsigned kAdding = 4;
  SeenSet seen = make_set(kAdding * kKeys, 1e-9);
  std::array<std::atomic<std::uint64_t>, kAdding> added{};
  const auto number_of = [](unsigned thread, std::uint64_t i) { return key_number(thread * kKeys + i); };
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < kAdding; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < kKeys; ++i) {
        EXPECT_EQ(add(seen, number_of(thread, i)), Added::fresh);
        added[thread] = i + 1;
      }
    });
  }
  FormerFile former = FormerFile::of(file);
  for (bool is_over = false; !is_over;) {
    std::array<std::uint64_t, kAdding> before{};
    is_over = true;
    for (unsigned thread = 0; thread < kAdding; ++thread) {
      before[thread] = added[thread];
      is_over = is_over && before[thread] == kKeys;
    }
    ASSERT_TRUE(seen.save(file, former, "a test").has_value());
    const auto loaded = SeenSet::load(file);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().text();
    for (unsigned thread = 0; thread < kAdding; ++thread) {
      for (std::uint64_t i = 0; i < before[thread]; ++i) ASSERT_TRUE(holds(*loaded, number_of(thread, i)));
    }
  }
  EXPECT_EQ(SeenSet::load(file)->before().keys, kAdding * kKeys);
}

}  // namespace
}  // namespace bloomwall::filter
