// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "base/text.h"

namespace bloomwall {
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

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

// A decimal number without rounding: value = digits * 10^exponent.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;
};

// Takes digits, a fraction and an exponent off the front of `text`. Nothing where there is no digit, or too many.
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal value;
  std::size_t at = 0;
  std::size_t seen = 0;
  bool fraction = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!is_digit(text[at])) break;
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    if (value.digits > (kMax - digit) / 10) return std::nullopt;
    value.digits = value.digits * 10 + digit;
    value.exponent -= fraction ? 1 : 0;
    ++seen;
  }
  if (seen == 0) return std::nullopt;
  if (at + 1 < text.size() && (text[at] == 'e' || text[at] == 'E') && is_digit(text[at + 1])) {
    int exponent = 0;
    const auto* end = text.data() + text.size();
    const auto [next, error] = std::from_chars(text.data() + at + 1, end, exponent);
    if (error != std::errc{} || exponent > 100) return std::nullopt;
    value.exponent += exponent;
    at = static_cast<std::size_t>(next - text.data());
  }
  text.remove_prefix(at);
  return value;
}

// digits * 10^exponent * unit as a whole number, nothing where it is not whole or too large.
std::optional<std::uint64_t> whole(Decimal value, std::uint64_t unit) {
  for (; value.exponent < 0; ++value.exponent) {
    if (value.digits % 10 == 0) {
      value.digits /= 10;
    } else if (unit % 10 == 0) {
      unit /= 10;
    } else if (value.digits % 5 == 0 && unit % 2 == 0) {
      value.digits /= 5;
      unit /= 2;
    } else {
      return std::nullopt;
    }
  }
  if (value.digits == 0) return 0;
  for (; value.exponent > 0; --value.exponent) {
    if (value.digits > kMax / 10) return std::nullopt;
    value.digits *= 10;
  }
  if (value.digits > kMax / unit) return std::nullopt;
  return value.digits * unit;
}

// The factor of a suffix: "", k, M, G, T, P in either case, and with `binary_allowed` Ki, Mi, ...; 0 for anything else.
std::uint64_t unit_of(std::string_view suffix, bool binary_allowed) {
  if (suffix.empty()) return 1;
  static constexpr std::string_view kLetters = "kmgtp";
  const char lower = static_cast<char>(suffix.front() | 0x20);
  const std::size_t power = kLetters.find(lower);
  const bool binary = suffix.size() == 2 && suffix[1] == 'i';
  if (power == std::string_view::npos || (suffix.size() > 1 && !(binary && binary_allowed))) return 0;
  std::uint64_t unit = 1;
  for (std::size_t i = 0; i <= power; ++i) unit *= binary ? 1024 : 1000;
  return unit;
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

std::optional<std::uint64_t> parse_count(std::string_view text) {
  const auto number = take_decimal(text);
  const std::uint64_t unit = unit_of(text, false);
  return number && unit != 0 ? whole(*number, unit) : std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const auto number = take_decimal(text);
  if (!text.empty() && (text.back() == 'B' || text.back() == 'b')) text.remove_suffix(1);
  const std::uint64_t unit = unit_of(text, true);
  return number && unit != 0 ? whole(*number, unit) : std::nullopt;
}

std::optional<double> parse_rate(std::string_view text) {
  double value = 0;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || next != text.data() + text.size() || !(value > 0 && value < 1)) return std::nullopt;
  return value;
}

std::optional<double> parse_weight(std::string_view text) {
  double value = 0;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && next == text.data() + text.size() && value >= 0 && std::isfinite(value)) return value;
  const auto count = parse_count(text);
  if (!count) return std::nullopt;
  return static_cast<double>(*count);
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits{"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_rate(double rate) { return fmt::format("{:.2e}", rate); }

std::string format_time(std::uint64_t seconds) {
  if (seconds == 0) return "-";
  constexpr std::uint64_t kYear10000 = 253402300800;  // beyond, the form below has five digits of year
  if (seconds >= kYear10000) return fmt::format("@{}", seconds);
  const std::chrono::sys_seconds when{std::chrono::seconds{static_cast<std::int64_t>(seconds)}};
  const auto day = std::chrono::floor<std::chrono::days>(when);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{when - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count());
}

}  // namespace bloomwall
