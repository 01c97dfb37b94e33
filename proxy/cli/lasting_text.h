// Ends and beginnings as commands take them: "--for 12h", "--since 2d".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>

namespace bloomwall::proxy {

// A duration from now on, as a time; "ever": null. Error: "--for 3x: ...".
tl::expected<nlohmann::ordered_json, std::string> end_after(const std::string& lasts);

// A time, or so far back, as a time: "2026-01-31T12:00:00Z"; of an empty text 1970. Error: "--since 3x: ...".
tl::expected<std::string, std::string> since_time(const std::string& since);

}  // namespace bloomwall::proxy
