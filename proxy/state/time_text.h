// Times as the state, its exports and the API write them: "2026-11-22T12:00:00Z" (RFC 3339, UTC, whole seconds). Read
// are those of any offset: "2026-11-22T13:00:00.25+01:00"; a fraction of a second is left out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

// Nothing where it is none, or not from 1970 to 9999.
std::optional<std::int64_t> parse_time(std::string_view text);
std::string time_text(std::int64_t seconds);  // since 1970

// An end: null for `kNoEnd`.
inline constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();
nlohmann::ordered_json end_json(std::int64_t until);
// Of the member "until", which must be there. Nothing: it is neither a time nor null.
std::optional<std::int64_t> end_member(const nlohmann::ordered_json& json);
std::optional<std::int64_t> time_member(const nlohmann::ordered_json& json, const char* name);

}  // namespace bloomwall::proxy
