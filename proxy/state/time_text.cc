// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/time_text.h"

#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "base/units.h"
#include "proxy/state/json_members.h"

namespace bloomwall::proxy {

namespace {

constexpr std::size_t kLocalLength = std::string_view("2026-11-22T12:00:00").size();

// As a clock that shows UTC has it.
std::optional<std::int64_t> parse_local(std::string_view text) {
  std::string utc(text);
  if (utc[10] == 't') utc[10] = 'T';
  utc.push_back('Z');
  std::tm parts{};
  const char* const end = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const std::int64_t seconds = ::timegm(&parts);
  // What the calendar does not have (February 30) reads as another day.
  if (seconds <= 0 || time_text(seconds) != utc) return std::nullopt;
  return seconds;
}

// "Z" or "+01:00"; in seconds.
std::optional<std::int64_t> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  for (const std::size_t at : {1U, 2U, 4U, 5U}) {
    if (!is_digit(text[at])) return std::nullopt;
  }
  const int hours = (text[1] - '0') * 10 + (text[2] - '0'), minutes = (text[4] - '0') * 10 + (text[5] - '0');
  if (hours > 23 || minutes > 59) return std::nullopt;
  const std::int64_t seconds = std::int64_t{hours} * 3600 + std::int64_t{minutes} * 60;
  return text[0] == '-' ? -seconds : seconds;
}

// What follows a fraction of a second, or the text where it has none. Nothing: a point without digits.
std::optional<std::string_view> skip_fraction(std::string_view text) {
  if (!text.starts_with('.')) return text;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
  return end == 1 ? std::nullopt : std::optional(text.substr(end));
}

}  // namespace

std::optional<std::int64_t> parse_time(std::string_view text) {
  constexpr std::int64_t kEndOf9999 = 253'402'300'800;
  if (text.size() <= kLocalLength) return std::nullopt;
  const auto local = parse_local(text.substr(0, kLocalLength));
  const auto rest = skip_fraction(text.substr(kLocalLength));
  const auto offset = rest ? parse_offset(*rest) : std::nullopt;
  if (!local || !offset) return std::nullopt;
  const std::int64_t seconds = *local - *offset;
  return seconds > 0 && seconds < kEndOf9999 ? std::optional(seconds) : std::nullopt;
}

std::string time_text(std::int64_t seconds) { return format_time(static_cast<std::uint64_t>(seconds)); }

nlohmann::ordered_json end_json(std::int64_t until) {
  return until == kNoEnd ? nlohmann::ordered_json() : nlohmann::ordered_json(time_text(until));
}

std::optional<std::int64_t> time_member(const nlohmann::ordered_json& json, const char* name) {
  const auto text = text_member(json, name);
  return text ? parse_time(*text) : std::nullopt;
}

std::optional<std::int64_t> end_member(const nlohmann::ordered_json& json) {
  const auto at = json.find("until");
  if (at == json.end()) return std::nullopt;
  return at->is_null() ? std::optional(kNoEnd) : time_member(json, "until");
}

}  // namespace bloomwall::proxy
