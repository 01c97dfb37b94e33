// SPDX-License-Identifier: Apache-2.0
#include "base/time_zone.h"

#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <string_view>

#include "base/text.h"

namespace bloomwall {
namespace {

constexpr std::size_t kLongestName = 64;

bool is_zone_name(const std::string& name) {
  const auto allowed = [](char c) {
    return is_alpha(c) || is_digit(c) || c == '/' || c == '_' || c == '-' || c == '+';
  };
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, allowed);
}

}  // namespace

// The library throws where it finds no zone, and where the system has no files at all.
std::optional<TimeZone> TimeZone::find(const std::string& name) {
  if (name == "UTC") return TimeZone();
  if (!is_zone_name(name)) return std::nullopt;
  const bool is_system = name == "system";
  try {
    return TimeZone(is_system ? date::current_zone() : date::locate_zone(name));
  } catch (const std::exception&) {
    if (is_system) return TimeZone();
    return std::nullopt;
  }
}

TimeZone::Period TimeZone::period_of(Instant instant) const {
  static constexpr Instant kEver = std::numeric_limits<Instant>::max() / 4;  // additions must not overflow
  if (zone_ == nullptr) return {.begin = -kEver, .end = kEver, .offset = 0};
  const date::sys_info info = zone_->get_info(date::sys_seconds(std::chrono::seconds(instant)));
  const auto bounded = [](date::sys_seconds at) {
    const Instant seconds = at.time_since_epoch().count();
    return std::clamp(seconds, -kEver, kEver);
  };
  return {
      .begin = bounded(info.begin), .end = bounded(info.end), .offset = static_cast<std::int32_t>(info.offset.count())};
}

// Offsets change less often than once a day, and by less than a day.
std::optional<Instant> TimeZone::instant_of(Instant local) const {
  constexpr Instant kDay = 86'400;
  for (const Instant near : {local - kDay, local + kDay}) {
    const std::int32_t offset = period_of(near).offset;
    if (period_of(local - offset).offset == offset) return local - offset;
  }
  return std::nullopt;
}

std::string TimeZone::name() const { return zone_ == nullptr ? "UTC" : zone_->name(); }

std::string wall_clock(Instant instant, const TimeZone& zone) {
  const std::chrono::sys_seconds local{std::chrono::seconds(instant + zone.period_of(instant).offset)};
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(local - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count());
}

namespace {

constexpr std::size_t kDate = std::string_view("2026-11-27 ").size();

std::string without_no_seconds(std::string text) {
  if (text.ends_with(":00")) text.resize(text.size() - 3);
  return text;
}

}  // namespace

std::string wall_clock_with_zone(Instant instant, const TimeZone& zone) {
  return fmt::format("{} ({})", without_no_seconds(wall_clock(instant, zone)), zone.name());
}

std::string until_text(Instant instant, Instant now, const TimeZone& zone) {
  const std::string text = without_no_seconds(wall_clock(instant, zone));
  return wall_clock(now, zone).starts_with(std::string_view(text).substr(0, kDate)) ? text.substr(kDate) : text;
}

}  // namespace bloomwall
