// Text for terminals and machines: hostile octets shown instead of sent, JSON that is always valid UTF-8.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "filter/result.h"

namespace bloomwall::filter {

// C0 and C1 controls, DEL, and what is no UTF-8 as \xNN; a backslash stays as it is.
std::string printable(std::string_view text);

// One line, and a line feed. Octets that are no UTF-8 become U+FFFD.
void print_json(std::ostream& out, const nlohmann::ordered_json& json);
// Over several lines, for a person who asked for JSON.
void print_json_tall(std::ostream& out, const nlohmann::ordered_json& json);

// "bloomwall-filter: where: what" on one line of its own.
void print_error(std::ostream& err, const Error& error);

}  // namespace bloomwall::filter
