// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/due.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>

namespace bloomwall::proxy {
namespace {

constexpr Seconds kHour = 3600, kDay = 24 * kHour, kNow = 1'800'000'000;

SourceState asked(FetchResult result, std::uint32_t failures = 0) {
  return {.result = result, .checked = kNow, .failures = failures};
}

struct DueCase {
  std::string_view name;
  SourceState source;
  DueTimes times;
  Seconds delay;
  bool is_told = false;
};
class DueTest : public testing::TestWithParam<DueCase> {};

TEST_P(DueTest, IsAskedForAgainAfter) {
  const DueCase& c = GetParam();
  SourceState source = c.source;
  set_due(source, c.times);
  EXPECT_EQ(source.due, kNow + c.delay);
  EXPECT_EQ(source.is_told, c.is_told);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, DueTest,
    testing::Values(
        DueCase{"TakenAsConfigured", asked(FetchResult::updated), {.every = kDay}, kDay},
        DueCase{"UnchangedLikewise", asked(FetchResult::unchanged), {.every = kDay}, kDay},
        DueCase{"ListAsksForLonger", asked(FetchResult::updated), {.every = kDay, .expires = 4 * kDay}, 4 * kDay},
        DueCase{"ListAsksForShorter", asked(FetchResult::updated), {.every = kDay, .expires = kHour}, kDay},
        DueCase{"ListAsksForTooLong", asked(FetchResult::updated), {.every = kDay, .expires = 900 * kDay}, kMostExpiry},
        DueCase{"RefusedAsConfigured", asked(FetchResult::refused), {.every = kDay, .expires = 4 * kDay}, kDay},
        DueCase{"FailedOnce", asked(FetchResult::failed, 1), {.every = kDay}, kHour / 2},
        DueCase{"FailedTwice", asked(FetchResult::failed, 2), {.every = kDay}, kHour},
        DueCase{"FailedOften", asked(FetchResult::failed, 4'000'000'000U), {.every = kDay}, 6 * kHour},
        DueCase{"ServerAsksForSeconds", asked(FetchResult::failed, 1), {.every = kDay, .retry_after = 3}, 3, true},
        DueCase{"ServerAsksForEver",
                asked(FetchResult::failed, 1),
                {.every = kDay, .retry_after = 1LL << 60},
                kMostWait,
                true},
        DueCase{"ServerAsksForThePast", asked(FetchResult::failed, 1), {.every = kDay, .retry_after = -5}, kHour / 2}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Due, DailyListDoesNotDriftWithAnHourlyTimer) {
  SourceState source = asked(FetchResult::updated);
  set_due(source, {.every = kDay});
  EXPECT_FALSE(is_due(source, kDay, kNow + 22 * kHour));
  EXPECT_TRUE(is_due(source, kDay, kNow + 23 * kHour));
  source.result = FetchResult::failed;  // back-off has no slack
  EXPECT_FALSE(is_due(source, kDay, kNow + 23 * kHour));
}

TEST(Due, ListThatAsksForYearsIsAskedForEachWeekUnlessLessOftenIsConfigured) {
  SourceState source = asked(FetchResult::updated);
  source.expires = 3650 * kDay;
  set_due(source, {.every = kHour, .expires = source.expires});
  EXPECT_FALSE(is_due(source, kHour, kNow + 6 * kDay));
  EXPECT_TRUE(is_due(source, kHour, kNow + 7 * kDay));
  set_due(source, {.every = 30 * kDay, .expires = source.expires});
  EXPECT_FALSE(is_due(source, 30 * kDay, kNow));
  EXPECT_FALSE(is_due(source, 30 * kDay, kNow + 20 * kDay));
  EXPECT_TRUE(is_due(source, 30 * kDay, kNow + 30 * kDay));
}

TEST(Due, ClockThatWasSetBackMakesEverythingDue) {
  SourceState source = asked(FetchResult::updated);
  set_due(source, {.every = kDay});
  EXPECT_TRUE(is_due(source, kDay, kNow - 1));
  source.checked = 0;
  source.due = kNow + 400 * kDay;  // from a clock of another year
  EXPECT_TRUE(is_due(source, kDay, kNow));
}

TEST(Due, WhatTheServerAskedForHoldsForImpatientPeopleToo) {
  SourceState source = asked(FetchResult::failed, 1);
  set_due(source, {.every = kDay, .retry_after = 60});
  EXPECT_FALSE(may_ask(source, kNow + 59));
  EXPECT_TRUE(may_ask(source, kNow + 60));
  EXPECT_TRUE(may_ask(source, kNow - kDay)) << "the clock was set back";
  set_due(source, {.every = kDay});
  EXPECT_TRUE(may_ask(source, kNow));
}

TEST(Due, ReadsWhatAListSaysOfItself) {
  const std::pair<std::string_view, std::optional<Seconds>> cases[] = {
      {"! Expires: 4 days (update frequency)", 4 * kDay},
      {"! Expires: 12 hours", 12 * kHour},
      {"# Expires: 1 day", kDay},
      {"!expires:2h", 2 * kHour},
      {"! Expires: 7", 7 * kDay},
      {"! Expires: 99999 days", kMostExpiry},
      {"! Expires: 0 days", std::nullopt},
      {"! Expires: soon", std::nullopt},
      {"! Expires: 5 minutes", std::nullopt},
      {"! Expires: -3 days", std::nullopt},
      {"! Expires: 184467440737095516150 days", std::nullopt},
      {"! Title: Expires: 4 days", std::nullopt},
      {"", std::nullopt}};
  for (const auto& [line, wanted] : cases) EXPECT_EQ(expiry_of_line(line), wanted) << line;
}

}  // namespace
}  // namespace bloomwall::proxy
