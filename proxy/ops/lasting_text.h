// Ends as commands take them: "--for 12h".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tl/expected.hpp>

namespace bloomwall::proxy {

// A duration from now on, as a time; "ever": null. Error: "--for 3x: ...".
tl::expected<nlohmann::ordered_json, std::string> end_after(const std::string& lasts);

}  // namespace bloomwall::proxy
