// Numbers as people type them on a command line, and as we print them.
//   count   10  10k  10M  10G  2.5T  1e10                 decimal suffixes k M G T P
//   bytes   30GB  24GiB  200M  1.5TiB  4096  4096B        decimal without 'i', binary with; the B may be left out
//   rate    1e-6  0.0001                                  strictly between 0 and 1
// A fraction must come out whole (1.5k is 1500, 1.5 is refused). Pure functions; nothing depends on the locale.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "filter/result.h"

namespace bloomwall::filter {

// Errors: Errc::usage, the message repeats the text and says what is expected.
Result<std::uint64_t> parse_count(std::string_view text);
Result<std::uint64_t> parse_bytes(std::string_view text);
Result<double> parse_rate(std::string_view text);
Result<double> parse_weight(std::string_view text);  // a decimal number >= 0, or a count with a suffix

std::string format_count(std::uint64_t count);   // "1,234,567"
std::string format_bytes(std::uint64_t bytes);   // "812 bytes", "30.0 GB": decimal, as disks and design figures are
std::string format_rate(double rate);            // "4.03e-07"
std::string format_time(std::uint64_t seconds);  // "2026-01-31T12:00:00Z", seconds since 1970; "-" for 0

}  // namespace bloomwall::filter
