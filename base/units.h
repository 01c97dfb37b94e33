// Numbers with units as people write and read them. Nothing wraps: what does not fit is refused. No locale.
// Two ways to write a number, on purpose:
//   in the configuration   one whole number and one unit, no fraction, no sign, no blank: every value has one reading
//   on a command line      fractions, exponents and units of either case as well: "1.5G", "30GB", "1e10"
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloomwall {

using Milliseconds = std::chrono::milliseconds;

// In the configuration.
std::optional<std::uint64_t> parse_integer(std::string_view text);  // decimal digits only
// Units: ms s m h d.
std::optional<Milliseconds> parse_duration(std::string_view text);
// Bytes. Units: none or B; K KB, M MB, G GB, T TB (powers of 1000); KiB MiB GiB TiB (powers of 1024).
std::optional<std::uint64_t> parse_size(std::string_view text);
std::optional<std::uint64_t> parse_percent(std::string_view text);  // "2%"
// In the largest unit that says it exactly: "10m", "90s", "64KiB", "30GB". They parse back to the same value.
std::string format_duration(Milliseconds value);
std::string format_size(std::uint64_t bytes);

// On a command line.
//   count   10  10k  10M  10G  2.5T  1e10                 decimal suffixes k M G T P
//   bytes   30GB  24GiB  200M  1.5TiB  4096  4096B        decimal without 'i', binary with; the B may be left out
// A fraction must come out whole (1.5k is 1500, 1.5 is refused).
std::optional<std::uint64_t> parse_count(std::string_view text);
std::optional<std::uint64_t> parse_bytes(std::string_view text);
std::optional<double> parse_rate(std::string_view text);    // above 0 and below 1
std::optional<double> parse_weight(std::string_view text);  // a decimal number >= 0, or a count with a suffix

// In messages and reports.
std::string format_count(std::uint64_t count);   // "1,234,567"
std::string format_bytes(std::uint64_t bytes);   // "812 bytes", "30.0 GB": decimal, as disks and design figures are
std::string format_rate(double rate);            // "4.03e-07"
std::string format_time(std::uint64_t seconds);  // "2026-01-31T12:00:00Z", seconds since 1970; "-" for 0

}  // namespace bloomwall
