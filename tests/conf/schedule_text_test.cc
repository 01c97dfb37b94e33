// SPDX-License-Identifier: Apache-2.0
#include "conf/schedule_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace bloomwall::conf {
namespace {

// "1111100 480-750", Monday first; "1111111 0-1440".
std::string say_times(std::string_view text) {
  const auto range = parse_time_range(text);
  if (!range) return "error: " + range.error();
  std::string out;
  for (unsigned day = 0; day < 7; ++day) out += range->begins_on(day) ? '1' : '0';
  return out + " " + std::to_string(range->from) + "-" + std::to_string(range->to) +
         (range->ends_next_day() ? " next day" : "");
}

TEST(TimeRange, IsDaysAndTimes) {
  const struct {
    std::string_view text, says;
  } rows[] = {
      {"mon-fri 08:00-12:30", "1111100 480-750"},
      {"mon,wed,fri 08:00-09:00", "1010100 480-540"},
      {"sat,sun", "0000011 0-1440"},
      {"sat-mon 10:00-11:00", "1000011 600-660"},
      {"mon-tue,sun 10:00-11:00", "1100001 600-660"},
      {"21:00-06:30", "1111111 1260-390 next day"},
      {"fri 22:00-24:00", "0000100 1320-1440"},
      {"22:00-00:00", "1111111 1320-1440"},
      {"00:00-24:00", "1111111 0-1440"},
      {"  tue   07:05-07:06 ", "0100000 425-426"},
      {"", "error: nothing stands there"},
      {"mon- 08:00-09:00", "error: \"\" is not a day"},
      {"mon-", "error: \"\" is not a day"},
      {"mon,tue- 08:00-09:00", "error: \"\" is not a day"},
      {"mon,,tue 08:00-09:00", "error: \"\" is not a day"},
      {"mon, 08:00-09:00", "error: a day is missing at the end of \"mon,\""},
      {"fry 08:00-09:00", "error: \"fry\" is not a day"},
      {"mon-fr 08:00-09:00", "error: \"fr\" is not a day"},
      {"Mon 08:00-09:00", "error: \"Mon\" is not a day"},
      {"25:00-26:00", "error: \"25:00\" is not a time from 00:00 to 24:00"},
      {"08:60-09:00", "error: \"08:60\" is not a time from 00:00 to 24:00"},
      {"8:00-9:00", "error: \"8:00\" is not a time from 00:00 to 24:00"},
      {"08:00", "error: \"\" is not a time from 00:00 to 24:00"},
      {"08:00-24:30", "error: \"24:30\" is not a time from 00:00 to 24:00"},
      {"24:00-06:00", "error: 24:00 may only end"},
      {"10:00-10:00", "error: it ends when it begins; without times it is all day"},
      {"mon 08:00-09:00 10:00-11:00", "error: \"10:00-11:00\" is too much"},
      {"08:00-09:00 mon", "error: \"mon\" is too much"},
  };
  for (const auto& row : rows) EXPECT_EQ(say_times(row.text), row.says) << row.text;
}

std::string say_dates(std::string_view text) {
  const auto range = parse_date_range(text);
  if (!range) return "error: " + range.error();
  if (range->is_yearly) return "every year";
  return std::to_string(range->first.time_since_epoch().count()) + " to " +
         std::to_string(range->last.time_since_epoch().count());
}

TEST(DateRange, IsADayOrASpanOrADayOfEveryYear) {
  const struct {
    std::string_view text, says;
  } rows[] = {
      {"1970-01-02", "1 to 1"},
      {"1970-01-02..1970-02-01", "1 to 31"},
      {"05-01", "every year"},
      {"02-29", "every year"},
      {"2026-02-29", "error: there is no day \"2026-02-29\""},
      {"02-30", "error: there is no day \"02-30\""},
      {"13-01", "error: there is no day \"13-01\""},
      {"1969-01-01", "error: \"1969-01-01\" is not a date from 1970-01-01 to 9999-12-31"},
      {"2026-1-1", "error: \"2026-1-1\" is not a date, such as 2026-12-24 or 12-24"},
      {"tomorrow", "error: \"tomorrow\" is not a date, such as 2026-12-24 or 12-24"},
      {"", "error: \"\" is not a date, such as 2026-12-24 or 12-24"},
      {"12-24..12-26", "error: from..to needs both years"},
      {"2026-12-24..12-26", "error: from..to needs both years"},
      {"2026-12-24..2026-12-23", "error: it ends before it begins"},
      {"2026-12-24..", "error: \"\" is not a date, such as 2026-12-24 or 12-24"},
  };
  for (const auto& row : rows) EXPECT_EQ(say_dates(row.text), row.says) << row.text;
}

TEST(DateRange, ContainsBothEnds) {
  const auto day = [](int year, unsigned month, unsigned number) {
    return std::chrono::sys_days(std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(number));
  };
  const auto span = parse_date_range("2026-12-21..2027-01-08");
  EXPECT_FALSE(span->contains(day(2026, 12, 20)));
  EXPECT_TRUE(span->contains(day(2026, 12, 21)));
  EXPECT_TRUE(span->contains(day(2027, 1, 8)));
  EXPECT_FALSE(span->contains(day(2027, 1, 9)));
  const auto yearly = parse_date_range("05-01");
  EXPECT_TRUE(yearly->contains(day(2026, 5, 1)));
  EXPECT_TRUE(yearly->contains(day(2031, 5, 1)));
  EXPECT_FALSE(yearly->contains(day(2026, 5, 2)));
}

}  // namespace
}  // namespace bloomwall::conf
