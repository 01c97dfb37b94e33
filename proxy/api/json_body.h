// The body of a request of the API as JSON (RFC 8259). A body that two readers may read in two ways is refused: an
// object with a member twice, however its name is spelt ("group" and "\u0067roup" are one), of which some take the
// first and some the last (RFC 8259 section 4; RFC 7493 section 2.3 forbids it). All of the API reads bodies by this.
// Linear, but for a look-up of each name among those of its object; bodies are bounded by their routes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace bloomwall::proxy {

// The object. Error: what is wrong with the body, for whoever sent it.
tl::expected<nlohmann::ordered_json, std::string> read_json_body(std::string_view body);

}  // namespace bloomwall::proxy
