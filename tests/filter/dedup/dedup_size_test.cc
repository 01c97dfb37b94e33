// SPDX-License-Identifier: Apache-2.0
#include "filter/dedup/dedup.h"

#include <gtest/gtest.h>

#include "filter/seen/seen_size.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kFifty = 50'000'000;

TEST(DedupSize, FiftyMillionLinesAtThirtyTwoBitsErrLessThanOnceInAMillion) {
  const auto usual = choose_dedup_size({});
  ASSERT_TRUE(usual.has_value());
  EXPECT_LE(usual->bytes(), kUsualMemory);
  EXPECT_GT(usual->bytes(), kUsualMemory - kPageBytes);
  EXPECT_LT(seen_error(*usual, kFifty), 1e-6);
  EXPECT_LT(seen_offered(*usual, kFifty, 1e9) - kFifty, 50);
}

TEST(DedupSize, EntriesAloneTakeTheLeastMemoryThatMeetsTheUsualError) {
  const auto size = choose_dedup_size({.entries = kFifty});
  ASSERT_TRUE(size.has_value());
  EXPECT_LE(seen_error(*size, kFifty), kUsualSeenError);
  Geometry smaller = *size;
  smaller.pages = smaller.pages * 99 / 100;
  EXPECT_GT(seen_error(smaller, kFifty), kUsualSeenError);
}

TEST(DedupSize, MemoryIsALimitWhereAnErrorIsAsked) {
  const auto fits = choose_dedup_size({.entries = kFifty, .memory = 200'000'000, .fpr = 1e-6});
  ASSERT_TRUE(fits.has_value());
  EXPECT_GT(fits->bytes(), 199'000'000U) << "what is allowed is used";
  const auto not_to_be_had = choose_dedup_size({.entries = kFifty, .memory = 20'000'000, .fpr = 1e-6});
  ASSERT_FALSE(not_to_be_had.has_value());
  EXPECT_EQ(not_to_be_had.error().code, Errc::unmet_target);
}

TEST(DedupSize, MemoryAloneIsUsedToTheLastPage) {
  const auto size = choose_dedup_size({.memory = 10 * kPageBytes + 5});
  ASSERT_TRUE(size.has_value());
  EXPECT_EQ(size->pages, 10U);
}

TEST(DedupSize, LessThanAPageIsRefused) {
  const auto size = choose_dedup_size({.memory = kPageBytes - 1});
  ASSERT_FALSE(size.has_value());
  EXPECT_EQ(size.error().code, Errc::usage);
}

// Also where far more come than the set is made for: each line that is taken stands for those that were lost before it.
TEST(DedupSize, WhatCameIsWhatWasTakenAndTheChancesOfAllLines) {
  const auto size = choose_dedup_size({.entries = 100'000, .fpr = 1e-3});
  ASSERT_TRUE(size.has_value());
  for (const std::uint64_t offered : {100'000U, 300'000U, 600'000U}) {
    double lost = 0;
    for (std::uint64_t n = 0; n < offered; n += 100) lost += 100 * seen_error(*size, n + 50);
    const double came = seen_offered(*size, offered - static_cast<std::uint64_t>(lost), 1e12);
    EXPECT_NEAR(came, static_cast<double>(offered), 0.02 * lost + 1) << offered;
  }
  EXPECT_EQ(seen_offered(*size, 100'000'000, 2e8), 2e8) << "no more than came";
}

}  // namespace
}  // namespace bloomwall::filter
