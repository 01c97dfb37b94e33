// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/time_text.h"

#include <ctime>

#include "base/units.h"
#include "proxy/state/json_members.h"

namespace bloomwall::proxy {

std::optional<std::int64_t> parse_time(std::string_view text) {
  constexpr std::size_t kTimeLength = 20;
  std::tm parts{};
  const std::string ended(text);
  const char* const end = ::strptime(ended.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0' || text.size() != kTimeLength) return std::nullopt;
  const std::int64_t seconds = ::timegm(&parts);
  // What the calendar does not have (February 30) reads as another day.
  if (seconds <= 0 || time_text(seconds) != text) return std::nullopt;
  return seconds;
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
