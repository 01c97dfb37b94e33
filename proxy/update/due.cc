// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/due.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace bloomwall::proxy {
namespace {

Seconds retry_delay(std::uint32_t failures) {
  Seconds delay = kFirstRetry;
  for (std::uint32_t i = 1; i < failures && delay < kMostRetry; ++i) delay *= 2;
  return std::min(delay, kMostRetry);
}

Seconds delay_after(const SourceState& source, Seconds every, Seconds expires) {
  if (source.result == FetchResult::failed) return retry_delay(source.failures);
  if (source.result == FetchResult::refused) return every;
  return std::max(every, std::min(expires, kMostExpiry));
}

}  // namespace

void set_due(SourceState& source, const DueTimes& times) {
  const Seconds told = std::clamp<Seconds>(times.retry_after, 0, kMostWait);
  source.is_told = told > 0;
  source.due = source.checked + (source.is_told ? told : delay_after(source, times.every, times.expires));
}

bool is_due(const SourceState& source, Seconds every, Seconds now) {
  if (source.checked > now || source.due - now > std::max({every, kMostExpiry, kMostWait})) return true;
  if (source.is_told || source.result == FetchResult::failed) return now >= source.due;
  return now >= source.checked + delay_after(source, every, source.expires) - every / 20;
}

bool may_ask(const SourceState& source, Seconds now) {
  return !source.is_told || now >= source.due || source.checked > now || source.due - now > kMostWait;
}

std::optional<Seconds> expiry_of_line(std::string_view line) {
  line = trim(line);
  while (!line.empty() && (line.front() == '!' || line.front() == '#' || is_blank(line.front()))) line.remove_prefix(1);
  constexpr std::string_view kName = "Expires:";
  if (!starts_ignoring_case(line, kName)) return std::nullopt;
  line = trim(line.substr(kName.size()));
  std::size_t digits = 0;
  while (digits < line.size() && is_digit(line[digits])) ++digits;
  const auto number = digits <= 5 ? parse_integer(line.substr(0, digits)) : std::nullopt;
  if (!number || *number == 0) return std::nullopt;
  std::string_view rest = line.substr(digits);
  const std::string_view unit = next_word(rest);
  Seconds each = 0;
  if (unit.empty() || starts_ignoring_case(unit, "d")) each = 86'400;
  if (starts_ignoring_case(unit, "h")) each = 3'600;
  if (each == 0) return std::nullopt;
  return std::min(static_cast<Seconds>(*number) * each, kMostExpiry);
}

}  // namespace bloomwall::proxy
