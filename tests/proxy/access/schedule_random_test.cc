// Random schedules in random zones, at random moments, against a clock on the wall.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>

#include "proxy/access/schedule.h"
#include "tests/proxy/access/wall_clock.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

Schedule compile_naive(const NaiveSchedule& naive) {
  std::vector<conf::TimeRange> ranges;
  for (const NaiveRange& range : naive.ranges) ranges.push_back(conf::parse_time_range(range.text).value());
  std::vector<conf::DateRange> dates;
  for (const std::string& text : naive.rest_days) dates.push_back(conf::parse_date_range(text).value());
  return {"s", TimeZone::find(naive.zone).value(), ranges, dates};
}

TEST(ScheduleAtRandomMoments, SaysWhatTheClockOnTheWallSays) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  ScheduleMaker random(seed);
  WallClock clock;
  int asked = 0, active = 0, changes = 0;
  for (int round = 0; round < 10'000; ++round) {
    const NaiveSchedule naive = random.schedule();
    const Schedule made = compile_naive(naive);
    for (int question = 0; question < 10; ++question, ++asked) {
      const Instant at = random.moment(naive.zone, clock);
      const Schedule::State state = made.state_at(at);
      const auto where = [&](Instant instant) {
        return local_text(instant, made.zone()) + ": " + fmt::format("{}", fmt::join(naive.times(), "; "));
      };
      ASSERT_EQ(state.is_active, naive.is_active(clock, at)) << where(at);
      active += state.is_active ? 1 : 0;
      ASSERT_GT(state.until, at);
      ASSERT_LE(state.until, at + Schedule::kHorizon);
      const Instant between = at + random.below(static_cast<int>(state.until - at));
      for (const Instant later : {between, state.until - 1}) {
        ASSERT_EQ(state.is_active, naive.is_active(clock, later)) << where(later) << " of " << where(at);
      }
      if (state.until == at + Schedule::kHorizon) continue;
      ASSERT_NE(state.is_active, naive.is_active(clock, state.until)) << where(state.until) << " of " << where(at);
      ++changes;
    }
  }
  EXPECT_EQ(asked, 100'000);
  EXPECT_GT(changes, asked / 2);
  EXPECT_GT(active, asked / 10);
  EXPECT_LT(active, asked * 9 / 10);
}

}  // namespace
}  // namespace bloomwall::proxy
