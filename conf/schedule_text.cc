// SPDX-License-Identifier: Apache-2.0
#include "conf/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "base/units.h"

namespace bloomwall::conf {
namespace {

constexpr std::array<std::string_view, 7> kWeekdays{"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

tl::unexpected<std::string> wrong(std::string what) { return tl::unexpected(std::move(what)); }

// The part before the separator; `rest` keeps what follows it.
std::string_view take_before(std::string_view& rest, std::string_view separator) {
  const std::size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest = rest.substr(std::min(at + separator.size(), rest.size()));
  return part;
}

std::optional<unsigned> weekday_of(std::string_view word) {
  const auto at = std::ranges::find(kWeekdays, word);
  return at == kWeekdays.end() ? std::nullopt : std::optional(static_cast<unsigned>(at - kWeekdays.begin()));
}

tl::expected<std::uint8_t, std::string> parse_days(std::string_view text) {
  unsigned days = 0;
  if (text.ends_with(',')) return wrong(fmt::format("a day is missing at the end of \"{}\"", text));
  while (!text.empty()) {
    std::string_view part = take_before(text, ",");
    const bool is_span = part.find('-') != part.npos;
    const std::string_view name = take_before(part, "-");
    const auto first = weekday_of(name);
    if (!first) return wrong(fmt::format("\"{}\" is not a day", name));
    const auto last = is_span ? weekday_of(part) : first;
    if (!last) return wrong(fmt::format("\"{}\" is not a day", part));
    for (unsigned day = *first;; day = (day + 1) % kWeekdays.size()) {
      days |= 1U << day;
      if (day == *last) break;
    }
  }
  return static_cast<std::uint8_t>(days);
}

std::optional<unsigned> two_digits(std::string_view text) {
  if (text.size() != 2 || !is_digit(text[0]) || !is_digit(text[1])) return std::nullopt;
  return static_cast<unsigned>((text[0] - '0') * 10 + (text[1] - '0'));
}

// "08:30"; 24:00 is the end of a day.
tl::expected<std::uint16_t, std::string> parse_minute(std::string_view text) {
  std::string_view rest = text;
  const auto hour = two_digits(take_before(rest, ":")), minute = two_digits(rest);
  if (!hour || !minute || *minute > 59 || *hour > 24 || (*hour == 24 && *minute != 0)) {
    return wrong(fmt::format("\"{}\" is not a time from 00:00 to 24:00", text));
  }
  return static_cast<std::uint16_t>(*hour * 60 + *minute);
}

struct Day {
  std::optional<int> year;
  std::chrono::month_day month_day{};
};

tl::expected<Day, std::string> parse_day(std::string_view text) {
  Day day;
  std::string_view rest = text;
  if (text.size() == 10) {
    const std::string_view digits = take_before(rest, "-");
    const auto year = digits.size() == 4 ? parse_integer(digits) : std::nullopt;
    if (!year || *year < 1970) return wrong(fmt::format("\"{}\" is not a date from 1970-01-01 to 9999-12-31", text));
    day.year = static_cast<int>(*year);
  }
  const auto month = two_digits(take_before(rest, "-")), number = two_digits(rest);
  if (!month || !number) return wrong(fmt::format("\"{}\" is not a date, such as 2026-12-24 or 12-24", text));
  day.month_day = std::chrono::month(*month) / std::chrono::day(*number);
  const bool exists = day.year ? (std::chrono::year(*day.year) / day.month_day).ok() : day.month_day.ok();
  if (!exists) return wrong(fmt::format("there is no day \"{}\"", text));
  return day;
}

std::chrono::sys_days days_of(const Day& day) {
  return std::chrono::sys_days(std::chrono::year(*day.year) / day.month_day);
}

}  // namespace

tl::expected<TimeRange, std::string> parse_time_range(std::string_view text) {
  TimeRange range;
  std::string_view rest = text;
  std::string_view word = next_word(rest);
  if (word.empty()) return wrong("nothing stands there");
  if (is_alpha(word.front())) {
    const auto days = parse_days(word);
    if (!days) return tl::unexpected(days.error());
    range.days = *days;
    word = next_word(rest);
    if (word.empty()) return range;
  }
  if (!rest.empty()) return wrong(fmt::format("\"{}\" is too much", rest));
  std::string_view end = word;
  const auto from = parse_minute(take_before(end, "-"));
  if (!from) return tl::unexpected(from.error());
  const auto to = parse_minute(end);
  if (!to) return tl::unexpected(to.error());
  if (*from == TimeRange::kDay) return wrong("24:00 may only end");
  if (*from == *to) return wrong("it ends when it begins; without times it is all day");
  range.from = *from;
  range.to = *to == 0 ? TimeRange::kDay : *to;
  return range;
}

bool DateRange::contains(std::chrono::sys_days day) const {
  if (!is_yearly) return first <= day && day <= last;
  const std::chrono::year_month_day date(day);
  return date.month() == month_day.month() && date.day() == month_day.day();
}

tl::expected<DateRange, std::string> parse_date_range(std::string_view text) {
  std::string_view rest = text;
  const bool is_span = text.find("..") != std::string_view::npos;
  const auto first = parse_day(take_before(rest, ".."));
  if (!first) return tl::unexpected(first.error());
  DateRange range;
  if (!is_span && !first->year) {
    range.is_yearly = true;
    range.month_day = first->month_day;
    return range;
  }
  const auto last = is_span ? parse_day(rest) : first;
  if (!last) return tl::unexpected(last.error());
  if (!first->year || !last->year) return wrong("from..to needs both years");
  range.first = days_of(*first);
  range.last = days_of(*last);
  if (range.last < range.first) return wrong("it ends before it begins");
  return range;
}

}  // namespace bloomwall::conf
