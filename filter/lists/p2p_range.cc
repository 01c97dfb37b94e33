// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/p2p_range.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>

#include "base/text.h"

namespace bloomwall::filter {
namespace {

constexpr int kLevelThatPasses = 128;

// The number of one to three digits that `text` consists of; none where it is over `most`.
std::optional<int> small_number(std::string_view text, int most) {
  int value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = failed == std::errc{} && end == text.data() + text.size() && is_digit(text.front());
  return whole && text.size() <= 3 && value <= most ? std::optional(value) : std::nullopt;
}

// "001.002.004.000" as "1.2.4.0"; empty where it is no address.
std::string without_zeros(std::string_view address) {
  std::string out;
  std::size_t parts = 0;
  for (std::string_view rest = trim(address); !rest.empty() && parts < 5; ++parts) {
    const auto octet = small_number(next_part(rest, '.'), 255);
    if (!octet) return {};
    out += (parts == 0 ? "" : ".") + std::to_string(*octet);
  }
  return parts == 4 && !trim(address).ends_with('.') ? out : std::string{};
}

RangeReading read_ends(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  const std::string first = without_zeros(text.substr(0, dash));
  const std::string last = without_zeros(text.substr(dash + 1));
  return first.empty() || last.empty() ? RangeReading{} : read_address_range(first + '-' + last);
}

}  // namespace

RangeReading read_p2p_range(std::string_view line) {
  line = trim(line);
  // Nearly no line of another list ends in a digit behind a colon.
  const std::size_t colon = !line.empty() && is_digit(line.back()) ? line.rfind(':') : std::string_view::npos;
  if (colon != std::string_view::npos) {
    if (const RangeReading named = read_ends(line.substr(colon + 1));
        named.outcome != RangeReading::Outcome::no_range) {
      return named;
    }
  }
  std::string_view rest = line;
  if (rest.empty() || !is_digit(rest.front())) return {};
  const RangeReading range = read_ends(next_part(rest, ','));
  const auto level = small_number(trim(next_part(rest, ',')), 255);
  if (range.outcome == RangeReading::Outcome::no_range || !level) return {};
  if (*level < kLevelThatPasses) return range;
  return {.outcome = RangeReading::Outcome::unsupported, .reason = "range whose access level lets it pass"};
}

}  // namespace bloomwall::filter
