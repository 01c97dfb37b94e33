// Schedules: whether one is active at an instant, and until when. Local wall-clock fields decide (day, weekday,
// minute), so that an hour that is skipped by a clock change never comes, and one that is repeated comes twice. A range
// that ends on the next day belongs to the day it begins on: a calendar that has that day rests all of it, and one that
// has the next day alone leaves it as it is.
// Pure: no clock is read. Immutable once compiled, thread-safe. state_at() costs the ranges times the days until the
// state changes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <chrono>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "base/time_zone.h"
#include "conf/config.h"
#include "conf/schedule_text.h"

namespace bloomwall::proxy {

// Days on which nothing begins. A question costs one binary search.
class RestDays {
 public:
  explicit RestDays(const std::vector<conf::DateRange>& dates);
  bool contains(std::chrono::sys_days day) const;

 private:
  struct Span {
    std::chrono::sys_days first, last;
  };
  std::vector<Span> spans_;  // in order, none touches the next
  std::bitset<384> yearly_;  // by month and day, 32 a month
};

class Schedule {
 public:
  // How far a change is looked for.
  static constexpr Instant kHorizon = Instant{62} * 24 * 3600;
  struct State {
    bool is_active = false;
    // The first instant at which that is otherwise; at the latest the horizon, where nothing may change.
    Instant until = 0;
    friend bool operator==(const State&, const State&) = default;
  };

  Schedule(std::string name, TimeZone zone, std::vector<conf::TimeRange> times,
           const std::vector<conf::DateRange>& rest_days);
  State state_at(Instant instant) const;
  bool is_active_at(Instant instant) const;  // likewise, at the cost of the ranges alone
  const std::string& name() const { return name_; }
  const TimeZone& zone() const { return zone_; }

 private:
  bool begins_on(const conf::TimeRange& range, std::chrono::sys_days day) const;
  bool is_active_on(std::chrono::sys_days day, int minute) const;

  std::string name_;
  TimeZone zone_;
  std::vector<conf::TimeRange> times_;
  RestDays rest_days_;
  std::vector<int> boundaries_;  // minutes of a day at which the state may change, ascending; 0 is one
};

// In the order of settings.schedules. Reads the files of calendars: at most 1 MiB and conf::kMostDates lines each, "#"
// begins a comment. Errors: one line each, "calendars[0].file: /etc/holidays.txt:3: ...".
tl::expected<std::vector<Schedule>, std::vector<std::string>> compile_schedules(const conf::Config& settings);

// "Mon 2026-11-23 09:10 Europe/Berlin": the wall clock there.
std::string local_text(Instant instant, const TimeZone& zone);
// Likewise of something that another zone decides on, which is said as well where it is not `zone`:
// "Tue 2026-11-24 08:30 America/New_York (Tue 2026-11-24 14:30 Europe/Berlin)".
std::string local_text_of(Instant instant, const TimeZone& of, const TimeZone& zone);
// The current time in whole seconds.
Instant instant_now();

}  // namespace bloomwall::proxy
