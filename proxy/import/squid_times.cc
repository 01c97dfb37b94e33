// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/squid_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace bloomwall::proxy::foreign {
namespace {

constexpr std::uint64_t kDay = std::uint64_t{24} * 60;  // in minutes

// "8:30" in minutes.
std::optional<std::uint64_t> minute_of(std::string_view text) {
  const auto hours = parse_integer(next_part(text, ':'));
  const auto minutes = parse_integer(text);
  if (!hours || !minutes || *hours > 24 || *minutes > 59) return std::nullopt;
  return *hours * 60 + *minutes;
}

std::optional<std::string> schedule_hours(std::string_view span) {
  const auto first = minute_of(next_part(span, '-'));
  const auto last = minute_of(span);
  if (!first || !last || *first > *last || *last > kDay) return std::nullopt;
  const std::uint64_t end = std::min(*last + 1, kDay);
  return fmt::format("{:02}:{:02}-{:02}:{:02}", *first / 60, *first % 60, end / 60, end % 60);
}

// False: a letter is no day.
bool add_days(std::string_view letters, std::string& days) {
  constexpr std::array<std::pair<char, const char*>, 7> kDays{
      {{'S', "sun"}, {'M', "mon"}, {'T', "tue"}, {'W', "wed"}, {'H', "thu"}, {'F', "fri"}, {'A', "sat"}}};
  constexpr std::string_view kWorkdays = "MTWHF";
  for (const char letter : letters) {
    if (letter == '-') continue;
    const std::string_view meant = letter == 'D' ? kWorkdays : std::string_view(&letter, 1);
    for (const char day : meant) {
      const auto found = std::ranges::find(kDays, day, [](const auto& each) { return each.first; });
      if (found == kDays.end()) return false;
      if (days.find(found->second) == std::string::npos) days += (days.empty() ? "" : ",") + std::string(found->second);
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::string>> squid_times(const std::vector<std::string>& words) {
  std::vector<std::string> spans;
  std::string days;
  for (const std::string& word : words) {
    if (word.empty()) continue;
    if (!is_digit(word.front())) {
      if (!add_days(word, days)) return std::nullopt;
      continue;
    }
    const auto hours = schedule_hours(word);
    if (!hours) return std::nullopt;
    spans.push_back(days + (days.empty() ? "" : " ") + *hours);
    days.clear();
  }
  if (!days.empty()) spans.push_back(days);
  return spans.empty() ? std::nullopt : std::optional(std::move(spans));
}

}  // namespace bloomwall::proxy::foreign
