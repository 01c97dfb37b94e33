// Numbers as people write them in the configuration: "65536", "10s", "64KiB". One whole number and one unit; no fractions,
// no signs, no spaces, so that every value has one reading. Nothing wraps: what does not fit is refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::conf {

using Milliseconds = std::chrono::milliseconds;

std::optional<std::uint64_t> parse_integer(std::string_view text);  // decimal digits only
// Units: ms s m h d.
std::optional<Milliseconds> parse_duration(std::string_view text);
// Bytes. Units: none or B; K KB, M MB, G GB, T TB (powers of 1000); KiB MiB GiB TiB (powers of 1024).
std::optional<std::uint64_t> parse_size(std::string_view text);
std::optional<std::uint64_t> parse_percent(std::string_view text);  // "2%"

// In the largest unit that says it exactly: "10m", "90s", "64KiB", "30GB". They parse back to the same value.
std::string format_duration(Milliseconds value);
std::string format_size(std::uint64_t bytes);

}  // namespace bloomwall::conf
