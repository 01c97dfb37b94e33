// Ends and beginnings as commands take them: "--for 12h", "--since 2d".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "base/units.h"

namespace bloomwall::proxy {

// The longest that exceptions and tokens last, and that is looked back.
inline constexpr Milliseconds kLongestLasting = std::chrono::hours(24 * 3650);

// A duration as whole seconds, rounded up; nothing where it is none, is below 1 s or is longer than that.
std::optional<std::int64_t> lasting_seconds(const std::string& text, Milliseconds longest = kLongestLasting);

// A duration from now on, as a time; "ever": null. Error: "--for 3x: ...".
tl::expected<nlohmann::ordered_json, std::string> end_after(const std::string& lasts);

// A time, or so far back, as a time: "2026-01-31T12:00:00Z"; of an empty text 1970. Error: "--since 3x: ...".
tl::expected<std::string, std::string> since_time(const std::string& since);

}  // namespace bloomwall::proxy
