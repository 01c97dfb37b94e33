// SPDX-License-Identifier: Apache-2.0
#include "conf/units.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <span>
#include <utility>

namespace bloomwall::conf {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
// Each table from the largest to the smallest, as format_in() wants it; further spellings stand behind.
constexpr Unit kDurations[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};
constexpr std::uint64_t kKi = 1024, kK = 1000;
constexpr Unit kSizes[] = {{"TiB", kKi* kKi* kKi* kKi},
                           {"TB", kK* kK* kK* kK},
                           {"GiB", kKi* kKi* kKi},
                           {"GB", kK* kK* kK},
                           {"MiB", kKi* kKi},
                           {"MB", kK* kK},
                           {"KiB", kKi},
                           {"KB", kK},
                           {"B", 1},
                           {"", 1},
                           {"T", kK* kK* kK* kK},
                           {"G", kK* kK* kK},
                           {"M", kK* kK},
                           {"K", kK}};

std::optional<std::uint64_t> parse_in(std::span<const Unit> units, std::string_view text, std::uint64_t limit) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_integer(text.substr(0, digits));
  if (!number) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name != text.substr(digits)) continue;
    if (*number > limit / unit.factor) return std::nullopt;
    return *number * unit.factor;
  }
  return std::nullopt;
}

std::string format_in(std::span<const Unit> units, std::uint64_t value) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) return fmt::format("{}{}", value / unit.factor, unit.name);
  }
  return "0";
}

}  // namespace

std::optional<std::uint64_t> parse_integer(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Milliseconds> parse_duration(std::string_view text) {
  if (text == "0") return Milliseconds{0};
  const auto count = parse_in(kDurations, text, std::numeric_limits<Milliseconds::rep>::max());
  if (!count) return std::nullopt;
  return Milliseconds{static_cast<Milliseconds::rep>(*count)};
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  return parse_in(kSizes, text, std::numeric_limits<std::uint64_t>::max());
}

std::optional<std::uint64_t> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  return parse_integer(text);
}

std::string format_duration(Milliseconds value) {
  return format_in(kDurations, static_cast<std::uint64_t>(value.count()));
}
std::string format_size(std::uint64_t bytes) { return format_in(kSizes, bytes); }

}  // namespace bloomwall::conf
