// How times and days of schedules and calendars are written, and what they mean. No clock, no time zone. Pure
// functions, linear in the text. The error says what is wrong with the part that it names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace bloomwall::conf {

// "mon-fri 08:00-12:30", "sat,sun", "21:00-06:30": days, then from and to. Days are mon tue wed thu fri sat sun, ranges
// of them (which may wrap: "sat-mon"), and several behind commas; none: every day. No from and to: all day.
struct TimeRange {
  static constexpr std::uint16_t kDay = 24 * 60;
  std::uint8_t days = 0x7f;  // bit 0 is Monday: on which it begins
  std::uint16_t from = 0;    // minutes since midnight, 0 .. 1439
  std::uint16_t to = kDay;   // 1 .. 1440; less than `from`: on the next day
  bool ends_next_day() const { return to < from; }
  bool begins_on(unsigned weekday) const { return ((days >> weekday) & 1U) != 0; }  // 0 is Monday
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};
tl::expected<TimeRange, std::string> parse_time_range(std::string_view text);

// "2026-12-21", "2026-12-21..2027-01-08" (both included), or "05-01" of every year.
struct DateRange {
  std::chrono::sys_days first, last;   // where it is of one year
  bool is_yearly = false;              // then month_day counts
  std::chrono::month_day month_day{};  // "02-29" is in leap years alone
  bool contains(std::chrono::sys_days day) const;
  friend bool operator==(const DateRange&, const DateRange&) = default;
};
tl::expected<DateRange, std::string> parse_date_range(std::string_view text);

}  // namespace bloomwall::conf
