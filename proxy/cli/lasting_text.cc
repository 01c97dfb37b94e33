// SPDX-License-Identifier: Apache-2.0
#include "proxy/cli/lasting_text.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "proxy/reload/loading.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

constexpr std::int64_t kDay = 86'400, kYear10000 = 253'402'300'800;

}  // namespace

std::optional<std::int64_t> lasting_seconds(const std::string& text, Milliseconds longest) {
  const auto duration = parse_duration(text);
  if (!duration || *duration < Milliseconds(1000) || *duration > longest) return std::nullopt;
  return std::chrono::ceil<std::chrono::seconds>(*duration).count();
}

tl::expected<nlohmann::ordered_json, std::string> end_after(const std::string& lasts) {
  if (lasts == "ever") return nlohmann::ordered_json(nullptr);
  const auto seconds = lasting_seconds(lasts);
  if (!seconds) {
    return tl::unexpected(fmt::format("--for {}: 1s to 3650d, such as 30m, 12h or 7d, or ever", lasts));
  }
  return nlohmann::ordered_json(format_time(static_cast<std::uint64_t>(std::time(nullptr) + *seconds)));
}

tl::expected<std::string, std::string> since_time(const std::string& since) {
  if (since.empty()) return time_text(1);
  if (const auto at = parse_time(since)) return time_text(*at);
  const auto back = lasting_seconds(since);
  if (!back) {
    return tl::unexpected(fmt::format("--since {}: a time such as 2026-01-31T12:00:00Z, or 2d", since));
  }
  return time_text(std::time(nullptr) - *back);
}

PeopleTime::PeopleTime(const std::filesystem::path& config) {
  const auto settings = load_settings(config);
  zone_ = TimeZone::find(settings ? settings->time_zone : "system").value_or(TimeZone());
}

std::string PeopleTime::text(std::int64_t seconds) const {
  const bool is_usual = seconds > kDay && seconds < kYear10000 - kDay;
  return is_usual ? wall_clock_with_zone(seconds, zone_) : format_time(static_cast<std::uint64_t>(seconds));
}

std::string PeopleTime::text(const std::string& utc) const {
  const auto seconds = parse_time(utc);
  return seconds ? text(*seconds) : printable(utc);
}

std::string PeopleTime::event_text(const std::string& utc) const {
  const auto seconds = parse_time(utc);
  if (!seconds || *seconds <= kDay || *seconds >= kYear10000 - kDay) return text(utc);
  return fmt::format("{} ({})", wall_clock(*seconds, zone_), zone_.name());
}

}  // namespace bloomwall::proxy
