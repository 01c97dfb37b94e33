// SPDX-License-Identifier: Apache-2.0
#include "base/time_zone.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace bloomwall {
namespace {

using std::chrono::sys_days;

Instant at(int year, unsigned month, unsigned day, int hour = 0, int minute = 0) {
  const sys_days date = std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
  return Instant{date.time_since_epoch().count()} * 86'400 + hour * 3600 + minute * 60;
}

TEST(TimeZone, KnowsThoseOfTheSystem) {
  ASSERT_TRUE(TimeZone::find("Europe/Berlin"));
  EXPECT_EQ(TimeZone::find("Europe/Berlin")->name(), "Europe/Berlin");
  EXPECT_TRUE(TimeZone::find("UTC"));
  EXPECT_TRUE(TimeZone::find("system")) << "UTC where none is set";
  for (const char* wrong : {"", "Europe/Berlin2", "../../etc/passwd", "Mars/Olympus", "Europe", "a b"}) {
    EXPECT_FALSE(TimeZone::find(wrong)) << wrong;
  }
  EXPECT_FALSE(TimeZone::find(std::string(100, 'a')));
}

TEST(TimeZone, PeriodsEndAtClockChanges) {
  const TimeZone berlin = *TimeZone::find("Europe/Berlin");
  const Instant spring = at(2026, 3, 29, 1), autumn = at(2026, 10, 25, 1);
  EXPECT_EQ(berlin.period_of(spring - 1).offset, 3600);
  EXPECT_EQ(berlin.period_of(spring - 1).end, spring);
  EXPECT_EQ(berlin.period_of(spring).offset, 7200);
  EXPECT_EQ(berlin.period_of(spring).begin, spring);
  EXPECT_EQ(berlin.period_of(spring).end, autumn);
  EXPECT_EQ(berlin.period_of(autumn).offset, 3600);
  const TimeZone::Period utc = TimeZone().period_of(spring);
  EXPECT_EQ(utc.offset, 0);
  EXPECT_GT(utc.end, at(9999, 1, 1));
}

TEST(TimeZone, AWallClockTimeIsTheFirstOfTwoOrNone) {
  const TimeZone berlin = *TimeZone::find("Europe/Berlin");
  EXPECT_EQ(berlin.instant_of(at(2026, 7, 1, 12)), at(2026, 7, 1, 10));
  EXPECT_EQ(berlin.instant_of(at(2026, 1, 1, 12)), at(2026, 1, 1, 11));
  EXPECT_EQ(berlin.instant_of(at(2026, 3, 29, 2, 30)), std::nullopt) << "the hour is skipped";
  EXPECT_EQ(berlin.instant_of(at(2026, 3, 29, 1, 59)), at(2026, 3, 29, 0, 59));
  EXPECT_EQ(berlin.instant_of(at(2026, 3, 29, 3)), at(2026, 3, 29, 1));
  EXPECT_EQ(berlin.instant_of(at(2026, 10, 25, 2, 30)), at(2026, 10, 25, 0, 30)) << "the hour comes twice";
  EXPECT_EQ(TimeZone().instant_of(1'234'567), 1'234'567);
}

TEST(WallClock, IsOfTheZoneAndSaysADayOnlyWhereItIsAnother) {
  const TimeZone berlin = TimeZone::find("Europe/Berlin").value();
  constexpr Instant kAt = 1'795'757'400;  // 2026-11-27 05:30:00 UTC
  EXPECT_EQ(wall_clock(kAt, berlin), "2026-11-27 06:30:00");
  EXPECT_EQ(wall_clock_with_zone(kAt, berlin), "2026-11-27 06:30 (Europe/Berlin)");
  EXPECT_EQ(wall_clock_with_zone(kAt + 7, TimeZone()), "2026-11-27 05:30:07 (UTC)");
  EXPECT_EQ(until_text(kAt, kAt - 3600, berlin), "06:30");
  EXPECT_EQ(until_text(kAt + 5, kAt - 3600, berlin), "06:30:05");
  EXPECT_EQ(until_text(kAt, kAt - 8 * 3600, berlin), "2026-11-27 06:30") << "asked on the evening before";
  EXPECT_EQ(until_text(kAt, kAt - 6 * 3600 - 1800, berlin), "06:30") << "it is midnight there";
}

}  // namespace
}  // namespace bloomwall
