// A naive model of schedules: a clock on the wall, which the C library reads, and rules as a person reads them there.
// It shares no code with proxy/access/schedule.h and base/time_zone.h. Random ones, too, as text and as what it means.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "conf/groups.h"

namespace bloomwall::proxy {

// What a clock shows in a place. Changes TZ of the process while it lives.
class WallClock {
 public:
  WallClock() {
    if (const char* const set = std::getenv("TZ")) before_ = set;
  }
  ~WallClock() {
    if (before_) set(*before_);
    if (!before_) ::unsetenv("TZ");
    ::tzset();
  }
  WallClock(const WallClock&) = delete;
  WallClock& operator=(const WallClock&) = delete;

  std::tm at(std::int64_t instant, const std::string& zone) {
    if (zone != zone_) set(zone_ = zone);
    std::tm out{};
    const std::time_t seconds = instant;
    EXPECT_NE(::localtime_r(&seconds, &out), nullptr);
    return out;
  }

 private:
  static void set(const std::string& zone) {
    ::setenv("TZ", zone.c_str(), 1);
    ::tzset();
  }
  std::optional<std::string> before_;
  std::string zone_;
};

struct NaiveRange {
  std::vector<int> weekdays;  // 0 is Sunday
  int from = 0, to = 24 * 60;
  std::string text;
};

struct NaiveSchedule {
  std::string zone;
  std::vector<NaiveRange> ranges;
  std::vector<std::string> rest_days;  // "2026-12-21..2027-01-08", "2026-12-24", "12-26"

  bool is_active(WallClock& clock, std::int64_t instant) const {
    const std::tm today = clock.at(instant, zone), yesterday = day_before(today);
    const int minute = today.tm_hour * 60 + today.tm_min;
    return std::ranges::any_of(ranges, [&](const NaiveRange& range) {
      if (range.from < range.to) return range.from <= minute && minute < range.to && begins_on(range, today);
      return (range.from <= minute && begins_on(range, today)) || (minute < range.to && begins_on(range, yesterday));
    });
  }
  std::vector<std::string> times() const {
    std::vector<std::string> out;
    for (const NaiveRange& range : ranges) out.push_back(range.text);
    return out;
  }

 private:
  static std::tm day_before(std::tm day) {
    day.tm_mday -= 1;
    day.tm_hour = 12;
    const std::time_t seconds = ::timegm(&day);
    return *::gmtime_r(&seconds, &day);
  }
  bool begins_on(const NaiveRange& range, const std::tm& day) const {
    return std::ranges::count(range.weekdays, day.tm_wday) > 0 && !is_at_rest(day);
  }
  bool is_at_rest(const std::tm& day) const {
    std::array<char, 16> buffer{};
    const std::string date(buffer.data(), std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d", &day));
    return std::ranges::any_of(rest_days, [&](const std::string& rest) {
      if (rest.size() == 5) return date.ends_with(rest);
      return rest.substr(0, 10) <= date && date <= rest.substr(rest.size() - 10);
    });
  }
};

// Random schedules, and random moments near to what is hard about them.
class ScheduleMaker {
 public:
  explicit ScheduleMaker(std::uint64_t seed) : random_(seed) {}

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool one_in(int n) { return below(n) == 0; }
  template <typename Values>
  const auto& pick(const Values& values) {
    return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
  }

  NaiveSchedule schedule() {
    NaiveSchedule made{.zone = pick(kZones), .ranges = {}, .rest_days = {}};
    for (int n = 1 + below(3); n > 0; --n) made.ranges.push_back(range());
    for (int n = one_in(2) ? below(4) : 0; n > 0; --n) made.rest_days.push_back(rest());
    return made;
  }
  // Half of them within a day of a clock change in `zone`, where it has any.
  std::int64_t moment(const std::string& zone, WallClock& clock) {
    const std::int64_t any = kFirst + std::uniform_int_distribution<std::int64_t>(0, kLast - kFirst)(random_);
    if (one_in(2)) return any;
    const bool is_summer = clock.at(any, zone).tm_isdst > 0;
    for (std::int64_t at = any; at < any + 250 * kDay; at += kDay) {
      if ((clock.at(at, zone).tm_isdst > 0) != is_summer) return at + below(2 * kDay) - kDay;
    }
    return any;
  }

 private:
  static constexpr int kDay = 86'400;
  static constexpr std::int64_t kFirst = 1'735'689'600, kLast = 1'893'456'000;  // 2025 to 2029
  static inline const std::vector<std::string> kZones{"UTC",           "Europe/Berlin",       "America/New_York",
                                                      "Asia/Kolkata",  "Australia/Lord_Howe", "Africa/Cairo",
                                                      "Europe/London", "America/Santiago",    "Pacific/Chatham"};
  static inline const std::vector<std::string> kNames{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

  // Clocks change at night.
  int minute(int most) { return one_in(2) ? below(4 * 60) : below(most); }
  NaiveRange range() {
    NaiveRange made;
    const int first = below(7), more = below(7);
    switch (below(4)) {
      case 0:
        made.weekdays = {0, 1, 2, 3, 4, 5, 6};
        break;
      case 1:
        made.weekdays = {first};
        made.text = name(first);
        break;
      case 2:
        made.weekdays = {first, (first + more) % 7};
        made.text = name(first) + "," + name(first + more);
        break;
      default:
        for (int day = 0; day <= more; ++day) made.weekdays.push_back((first + day) % 7);
        made.text = name(first) + "-" + name(first + more);
    }
    if (!made.text.empty() && one_in(8)) return made;
    made.from = minute(24 * 60);
    do {
      made.to = one_in(10) ? 24 * 60 : 1 + minute(24 * 60 - 1);
    } while (made.to == made.from);
    made.text += fmt::format("{}{:02}:{:02}-{:02}:{:02}", made.text.empty() ? "" : " ", made.from / 60, made.from % 60,
                             made.to / 60, made.to % 60);
    return made;
  }
  std::string name(int weekday) const { return kNames[static_cast<std::size_t>(weekday % 7)]; }
  // Clocks change in these months.
  std::string rest() {
    static constexpr std::array kMonths{3, 4, 9, 10, 11};
    const int month = pick(kMonths), first = 1 + below(30), year = 2025 + below(5);
    if (one_in(3)) return fmt::format("{:02}-{:02}", month, first);
    if (one_in(3)) return fmt::format("{}-{:02}-{:02}", year, month, first);
    return fmt::format("{}-{:02}-{:02}..{}-{:02}-{:02}", year, month, first, year, month, first + below(31 - first));
  }
  std::mt19937_64 random_;
};

}  // namespace bloomwall::proxy
