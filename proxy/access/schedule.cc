// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace bloomwall::proxy {
namespace {

using std::chrono::days;
using std::chrono::sys_days;

constexpr Instant kDaySeconds = 86'400;
constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;

// A moment as the wall clock shows it.
struct LocalTime {
  sys_days day;
  int minute = 0;   // of the day
  Instant seconds;  // since 1970-01-01 00:00 on that clock
};

LocalTime local_at(Instant instant, std::int32_t offset) {
  const Instant local = instant + offset;
  const Instant day = (local >= 0 ? local : local - (kDaySeconds - 1)) / kDaySeconds;
  return {sys_days(days(day)), static_cast<int>((local - day * kDaySeconds) / 60), local};
}

std::size_t yearly_place(std::chrono::month month, std::chrono::day day) {
  return (static_cast<unsigned>(month) - 1) * 32 + static_cast<unsigned>(day);
}

unsigned weekday_of(sys_days day) { return std::chrono::weekday(day).iso_encoding() - 1; }

using Dates = std::vector<conf::DateRange>;

void read_dates(const std::filesystem::path& file, const std::string& key, Dates& dates,
                std::vector<std::string>& errors) {
  std::ifstream in(file, std::ios::binary);
  std::string text(kMostFileBytes + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in && !in.eof()) {
    const std::string why = std::generic_category().message(errno);
    return errors.push_back(fmt::format("{}: cannot read {}: {}", key, file.string(), why));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostFileBytes) {
    return errors.push_back(fmt::format("{}: {} is larger than {} octets", key, file.string(), kMostFileBytes));
  }
  LineWalk lines(text);
  std::size_t taken = 0;
  while (lines.next()) {
    const std::string_view line = trim(lines.line().substr(0, lines.line().find('#')));
    if (line.empty()) continue;
    const auto range = conf::parse_date_range(line);
    if (range && ++taken <= conf::kMostDates) {
      dates.push_back(*range);
      continue;
    }
    errors.push_back(fmt::format("{}: {}:{}: {}", key, file.string(), lines.number(),
                                 range ? fmt::format("more than {} dates", conf::kMostDates) : range.error()));
    return;
  }
}

std::map<std::string, Dates> compile_calendars(const conf::Config& settings, std::vector<std::string>& errors) {
  std::map<std::string, Dates> calendars;
  for (std::size_t i = 0; i < settings.calendars.size(); ++i) {
    const conf::Calendar& calendar = settings.calendars[i];
    Dates& dates = calendars[calendar.name];
    for (const std::string& text : calendar.dates) {
      if (const auto range = conf::parse_date_range(text)) dates.push_back(*range);
    }
    if (!calendar.file.empty()) read_dates(calendar.file, fmt::format("calendars[{}].file", i), dates, errors);
  }
  return calendars;
}

}  // namespace

RestDays::RestDays(const std::vector<conf::DateRange>& dates) {
  for (const conf::DateRange& range : dates) {
    if (range.is_yearly) {
      yearly_.set(yearly_place(range.month_day.month(), range.month_day.day()));
    } else {
      spans_.push_back({range.first, range.last});
    }
  }
  std::ranges::sort(spans_, {}, &Span::first);
  std::vector<Span> joined;
  for (const Span& span : spans_) {
    if (!joined.empty() && span.first <= joined.back().last + days(1)) {
      joined.back().last = std::max(joined.back().last, span.last);
    } else {
      joined.push_back(span);
    }
  }
  spans_ = std::move(joined);
}

bool RestDays::contains(sys_days day) const {
  const auto behind = std::ranges::upper_bound(spans_, day, {}, &Span::first);
  if (behind != spans_.begin() && day <= std::prev(behind)->last) return true;
  if (yearly_.none()) return false;
  const std::chrono::year_month_day date(day);
  return yearly_.test(yearly_place(date.month(), date.day()));
}

Schedule::Schedule(std::string name, TimeZone zone, std::vector<conf::TimeRange> times,
                   const std::vector<conf::DateRange>& rest_days)
    : name_(std::move(name)), zone_(zone), times_(std::move(times)), rest_days_(rest_days), boundaries_{0} {
  for (const conf::TimeRange& range : times_) {
    boundaries_.push_back(range.from);
    if (range.to < conf::TimeRange::kDay) boundaries_.push_back(range.to);
  }
  std::ranges::sort(boundaries_);
  const auto [first, last] = std::ranges::unique(boundaries_);
  boundaries_.erase(first, last);
}

bool Schedule::begins_on(const conf::TimeRange& range, sys_days day) const {
  return range.begins_on(weekday_of(day)) && !rest_days_.contains(day);
}

bool Schedule::is_active_on(sys_days day, int minute) const {
  return std::ranges::any_of(times_, [&](const conf::TimeRange& range) {
    if (!range.ends_next_day()) return range.from <= minute && minute < range.to && begins_on(range, day);
    return (range.from <= minute && begins_on(range, day)) || (minute < range.to && begins_on(range, day - days(1)));
  });
}

// Within a time of one offset the wall clock goes on evenly, and only the boundaries need be looked at.
Schedule::State Schedule::state_at(Instant instant) const {
  TimeZone::Period period = zone_.period_of(instant);
  LocalTime at = local_at(instant, period.offset);
  const State state{.is_active = is_active_on(at.day, at.minute), .until = instant + kHorizon};
  while (true) {
    const Instant end = std::min(period.end, state.until);
    for (sys_days day = at.day;; day += days(1)) {
      const Instant midnight = Instant{day.time_since_epoch().count()} * kDaySeconds - period.offset;
      if (midnight >= end) break;
      for (const int minute : boundaries_) {
        const Instant boundary = midnight + Instant{minute} * 60;
        if (boundary <= instant || boundary < period.begin || boundary >= end) continue;
        if (is_active_on(day, minute) != state.is_active) return {state.is_active, boundary};
      }
    }
    if (end == state.until) return state;
    period = zone_.period_of(end);
    at = local_at(end, period.offset);
    if (is_active_on(at.day, at.minute) != state.is_active) return {state.is_active, end};
  }
}

bool Schedule::is_active_at(Instant instant) const {
  const LocalTime at = local_at(instant, zone_.period_of(instant).offset);
  return is_active_on(at.day, at.minute);
}

tl::expected<std::vector<Schedule>, std::vector<std::string>> compile_schedules(const conf::Config& settings) {
  std::vector<std::string> errors;
  const auto calendars = compile_calendars(settings, errors);
  std::vector<Schedule> schedules;
  for (std::size_t i = 0; i < settings.schedules.size(); ++i) {
    const conf::Schedule& schedule = settings.schedules[i];
    const std::string& wanted = schedule.time_zone.value_or(settings.time_zone);
    const auto zone = TimeZone::find(wanted);
    if (!zone) errors.push_back(fmt::format("schedules[{}]: there is no time zone {}", i, wanted));
    std::vector<conf::TimeRange> times;
    for (const std::string& text : schedule.times) {
      if (const auto range = conf::parse_time_range(text)) times.push_back(*range);
    }
    Dates rest_days;
    for (const std::string& name : schedule.except) {
      const auto calendar = calendars.find(name);
      if (calendar == calendars.end()) continue;
      rest_days.insert(rest_days.end(), calendar->second.begin(), calendar->second.end());
    }
    schedules.emplace_back(schedule.name, zone.value_or(TimeZone()), std::move(times), std::move(rest_days));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return schedules;
}

std::string local_text(Instant instant, const TimeZone& zone) {
  constexpr std::array<std::string_view, 7> kNames{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
  const LocalTime at = local_at(instant, zone.period_of(instant).offset);
  const std::chrono::year_month_day date(at.day);
  return fmt::format("{} {:04}-{:02}-{:02} {:02}:{:02} {}", kNames[weekday_of(at.day)], static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), at.minute / 60,
                     at.minute % 60, zone.name());
}

std::string local_text_of(Instant instant, const TimeZone& of, const TimeZone& zone) {
  if (of.name() == zone.name()) return local_text(instant, zone);
  return fmt::format("{} ({})", local_text(instant, of), local_text(instant, zone));
}

Instant instant_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace bloomwall::proxy
