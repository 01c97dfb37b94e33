// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

constexpr Instant kMinute = 60, kHour = 3600, kOneDay = 24 * kHour;

// "2026-11-23 09:10[:59]" as a clock that shows UTC has it.
Instant utc(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t size) { return std::stoi(std::string(text.substr(at, size))); };
  const std::chrono::sys_days day = std::chrono::year(number(0, 4)) / number(5, 2) / number(8, 2);
  const int seconds = text.size() > 16 ? number(17, 2) : 0;
  return Instant{day.time_since_epoch().count()} * kOneDay + number(11, 2) * kHour + number(14, 2) * kMinute + seconds;
}

Schedule schedule(const std::vector<std::string>& times, const std::string& zone = "UTC",
                  const std::vector<std::string>& rest = {}) {
  std::vector<conf::TimeRange> ranges;
  for (const std::string& text : times) ranges.push_back(conf::parse_time_range(text).value());
  std::vector<conf::DateRange> dates;
  for (const std::string& text : rest) dates.push_back(conf::parse_date_range(text).value());
  return {"s", TimeZone::find(zone).value(), ranges, dates};
}

// "on until 2026-11-23 12:30": both in UTC.
std::string say(const Schedule& of, Instant instant) {
  const Schedule::State state = of.state_at(instant);
  if (state.until == instant + Schedule::kHorizon) return state.is_active ? "on" : "off";
  return (state.is_active ? "on until " : "off until ") + local_text(state.until, TimeZone()).substr(4, 16);
}

struct ScheduleRow {
  std::string_view at, says;  // UTC
};
struct ScheduleCase {
  std::string_view name;
  std::vector<std::string> times;
  std::string zone;
  std::vector<std::string> rest;
  std::vector<ScheduleRow> rows;
};
void PrintTo(const ScheduleCase& test, std::ostream* out) { *out << test.name; }

class ScheduleTable : public testing::TestWithParam<ScheduleCase> {};

TEST_P(ScheduleTable, SaysWhetherItIsActiveAndUntilWhen) {
  const Schedule of = schedule(GetParam().times, GetParam().zone, GetParam().rest);
  for (const ScheduleRow& row : GetParam().rows) EXPECT_EQ(say(of, utc(row.at)), row.says) << row.at;
}

// 2026-11-23 is a Monday. Berlin: 2026-03-29 01:00 UTC is 02:00, and the clock goes to 03:00; 2026-10-25 01:00 UTC is
// 03:00, and it goes back to 02:00.
INSTANTIATE_TEST_SUITE_P(
    Rules, ScheduleTable,
    testing::Values(ScheduleCase{"BothEndsToTheSecond",
                                 {"mon-fri 08:00-12:30"},
                                 "UTC",
                                 {},
                                 {{"2026-11-23 07:59:59", "off until 2026-11-23 08:00"},
                                  {"2026-11-23 08:00:00", "on until 2026-11-23 12:30"},
                                  {"2026-11-23 12:29:59", "on until 2026-11-23 12:30"},
                                  {"2026-11-23 12:30:00", "off until 2026-11-24 08:00"},
                                  {"2026-11-27 12:30:00", "off until 2026-11-30 08:00"},
                                  {"2026-11-28 09:00:00", "off until 2026-11-30 08:00"}}},
                    ScheduleCase{"PastMidnightItBelongsToTheDayItBeginsOn",
                                 {"fri 22:00-06:00"},
                                 "UTC",
                                 {},
                                 {{"2026-11-27 05:00", "off until 2026-11-27 22:00"},
                                  {"2026-11-27 23:00", "on until 2026-11-28 06:00"},
                                  {"2026-11-28 05:59:59", "on until 2026-11-28 06:00"},
                                  {"2026-11-28 06:00", "off until 2026-12-04 22:00"}}},
                    ScheduleCase{"RangesThatTouchAreOne",
                                 {"mon 08:00-10:00", "mon 10:00-12:00", "mon 11:00-13:00"},
                                 "UTC",
                                 {},
                                 {{"2026-11-23 08:30", "on until 2026-11-23 13:00"}}},
                    ScheduleCase{"DaysThatTouchAreOne",
                                 {"fri 20:00-24:00", "sat,sun"},
                                 "UTC",
                                 {},
                                 {{"2026-11-27 21:00", "on until 2026-11-30 00:00"}}},
                    ScheduleCase{"AlwaysAndNever", {"00:00-24:00"}, "UTC", {}, {{"2026-11-23 08:30", "on"}}},
                    ScheduleCase{
                        "RestDaysOfBothKinds",
                        {"08:00-12:00", "22:00-06:00"},
                        "UTC",
                        {"2026-12-21..2026-12-23", "2026-12-24", "12-26"},
                        {{"2026-12-20 23:00", "on until 2026-12-21 06:00"},  // the night before goes on to its end
                         {"2026-12-21 06:00", "off until 2026-12-25 08:00"},
                         {"2026-12-23 09:00", "off until 2026-12-25 08:00"},
                         {"2026-12-25 23:00", "on until 2026-12-26 06:00"},
                         {"2026-12-26 23:00", "off until 2026-12-27 08:00"}}},
                    ScheduleCase{"ALongRestEndsAtTheHorizon",
                                 {"08:00-12:00"},
                                 "UTC",
                                 {"2026-06-01..2026-12-31"},
                                 {{"2026-07-01 09:00", "off"}}}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    ClockChanges, ScheduleTable,
    testing::Values(
        ScheduleCase{"ASkippedHourNeverComes",
                     {"02:00-03:00"},
                     "Europe/Berlin",
                     {},
                     {{"2026-03-28 00:30", "off until 2026-03-28 01:00"},
                      {"2026-03-28 02:00", "off until 2026-03-30 00:00"},  // not on the 29th
                      {"2026-03-29 00:59:59", "off until 2026-03-30 00:00"},
                      {"2026-03-29 01:00", "off until 2026-03-30 00:00"}}},
        ScheduleCase{"OverTheSkippedHourItIsShorter",
                     {"01:30-03:30"},
                     "Europe/Berlin",
                     {},
                     {{"2026-03-29 00:30", "on until 2026-03-29 01:30"},  // 03:30 on the wall
                      {"2026-03-29 01:30", "off until 2026-03-29 23:30"}}},
        ScheduleCase{"ItMayBeginInsideTheSkippedHour",
                     {"02:30-04:00"},
                     "Europe/Berlin",
                     {},
                     {{"2026-03-29 00:59", "off until 2026-03-29 01:00"},  // at 03:00, the first minute there is
                      {"2026-03-29 01:00", "on until 2026-03-29 02:00"}}},
        ScheduleCase{"ARepeatedHourComesTwice",
                     {"02:00-03:00"},
                     "Europe/Berlin",
                     {},
                     {{"2026-10-24 23:59", "off until 2026-10-25 00:00"},
                      {"2026-10-25 00:00", "on until 2026-10-25 02:00"}}},  // 02:00 to 03:00, and again
        ScheduleCase{"HalfOfARepeatedHourComesTwice",
                     {"02:15-02:45"},
                     "Europe/Berlin",
                     {},
                     {{"2026-10-25 00:15", "on until 2026-10-25 00:45"},
                      {"2026-10-25 00:45", "off until 2026-10-25 01:15"},
                      {"2026-10-25 01:15", "on until 2026-10-25 01:45"},
                      {"2026-10-25 01:45", "off until 2026-10-26 01:15"}}},
        ScheduleCase{"TheClockGoesBackIntoIt",
                     {"02:30-03:00"},
                     "Europe/Berlin",
                     {},
                     {{"2026-10-25 00:45", "on until 2026-10-25 01:00"},
                      {"2026-10-25 01:00", "off until 2026-10-25 01:30"},
                      {"2026-10-25 01:30", "on until 2026-10-25 02:00"}}},
        ScheduleCase{"AChangeOfHalfAnHour",  // Lord Howe: 2026-04-04 15:00 UTC is 02:00, and it goes back to 01:30
                     {"01:30-02:00"},
                     "Australia/Lord_Howe",
                     {},
                     {{"2026-04-04 14:30", "on until 2026-04-04 15:30"}}},
        ScheduleCase{
            "AMidnightThatIsSkipped",  // Cairo: on 2026-04-24 the clock goes from 00:00 to 01:00, at 22:00 UTC
            {"fri 00:00-00:30", "fri 01:00-02:00"},
            "Africa/Cairo",
            {},
            {{"2026-04-23 21:59", "off until 2026-04-23 22:00"}, {"2026-04-23 22:00", "on until 2026-04-23 23:00"}}}),
    [](const auto& row) { return std::string(row.param.name); });

// Minute by minute, as one reads a clock on the wall.
bool is_active_on_the_wall(const std::vector<std::string>& times, const TimeZone& zone, Instant instant) {
  const Instant local = instant + zone.period_of(instant).offset;
  const Instant day = (local - ((local % kOneDay) + kOneDay) % kOneDay) / kOneDay;
  const auto minute = static_cast<int>((local - day * kOneDay) / kMinute);
  const auto weekday = [](Instant of) { return static_cast<unsigned>((of % 7 + 7 + 3) % 7); };  // day 0: Thursday
  return std::ranges::any_of(times, [&](const std::string& text) {
    const conf::TimeRange range = *conf::parse_time_range(text);
    if (range.from < range.to) return range.begins_on(weekday(day)) && minute >= range.from && minute < range.to;
    return (range.begins_on(weekday(day)) && minute >= range.from) ||
           (range.begins_on(weekday(day - 1)) && minute < range.to);
  });
}

class RandomSchedules : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomSchedules, AgreeWithTheClockOnTheWall) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random(GetParam());
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const std::vector<std::string> zones{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                       "Asia/Kolkata"};
  const std::vector<std::string> days{"", "mon ", "mon-fri ", "sat,sun ", "fri-mon "};
  const std::vector<Instant> around{utc("2026-03-28 00:00"), utc("2026-10-24 00:00"), utc("2026-04-04 00:00"),
                                    utc("2026-11-01 00:00")};
  int changes = 0;
  for (int round = 0; round < 40; ++round) {
    const auto time = [&] {
      const int minute = below(2) == 0 ? below(4 * 60) : below(24 * 60);  // clocks change at night
      return (minute < 600 ? "0" : "") + std::to_string(minute / 60) + (minute % 60 < 10 ? ":0" : ":") +
             std::to_string(minute % 60);
    };
    std::vector<std::string> times;
    while (times.size() < 3) {
      const std::string text = days[static_cast<std::size_t>(below(5))] + time() + "-" + time();
      if (conf::parse_time_range(text)) times.push_back(text);
    }
    const std::string& name = zones[static_cast<std::size_t>(below(5))];
    const Schedule of = schedule(times, name);
    const Instant from = around[static_cast<std::size_t>(below(4))];
    SCOPED_TRACE(name + ": " + times[0] + "; " + times[1] + "; " + times[2]);
    Schedule::State state = of.state_at(from);
    for (Instant at = from; at < from + 3 * kOneDay; at += kMinute) {
      if (at >= state.until) {
        ASSERT_EQ(at, state.until) << "it says when it changes";
        const bool was_active = state.is_active;
        state = of.state_at(at);
        ASSERT_NE(state.is_active, was_active);
        ++changes;
      }
      ASSERT_EQ(state.is_active, is_active_on_the_wall(times, of.zone(), at)) << local_text(at, of.zone());
    }
  }
  EXPECT_GT(changes, 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchedules, testing::Range<std::uint64_t>(1, 7));

conf::Config with_calendar(const std::filesystem::path& file) {
  conf::Config settings;
  settings.time_zone = "Europe/Berlin";
  settings.calendars = {{.name = "holidays", .dates = {"05-01"}, .file = file}};
  settings.schedules = {{.name = "lessons", .times = {"08:00-12:00"}, .except = {"holidays"}, .time_zone = {}},
                        {.name = "abroad", .times = {"08:00-12:00"}, .except = {}, .time_zone = "America/New_York"}};
  return settings;
}

TEST(CompiledSchedules, ReadTheirCalendarsAndZones) {
  const test::TempDir dir;
  const auto made =
      compile_schedules(with_calendar(dir.write("days.txt", "# holidays\n2026-12-24 # eve\n\r\n01-06\n")));
  ASSERT_TRUE(made) << made.error().front();
  ASSERT_EQ(made->size(), 2U);
  EXPECT_TRUE(made->front().state_at(utc("2026-12-23 09:00")).is_active);
  EXPECT_FALSE(made->front().state_at(utc("2026-12-24 09:00")).is_active);
  EXPECT_FALSE(made->front().state_at(utc("2027-01-06 09:00")).is_active);
  EXPECT_FALSE(made->front().state_at(utc("2027-05-01 09:00")).is_active);
  EXPECT_FALSE(made->at(1).state_at(utc("2026-12-23 09:00")).is_active) << "it is night there";
  EXPECT_EQ(local_text(utc("2026-12-23 09:00"), made->front().zone()), "Wed 2026-12-23 10:00 Europe/Berlin");
}

TEST(CompiledSchedules, NameTheLineOfACalendarThatIsWrong) {
  const test::TempDir dir;
  const auto file = dir.write("days.txt", "2026-12-24\n2026-02-30\n");
  auto made = compile_schedules(with_calendar(file));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().front(), "calendars[0].file: " + file.string() + ":2: there is no day \"2026-02-30\"");
  made = compile_schedules(with_calendar(dir.path() / "none.txt"));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().front().find("No such file"), std::string::npos) << made.error().front();
  made = compile_schedules(with_calendar(dir.write("large.txt", std::string((1 << 20) + 1, '\n'))));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().front().find("is larger than"), std::string::npos) << made.error().front();
}

}  // namespace
}  // namespace bloomwall::proxy
