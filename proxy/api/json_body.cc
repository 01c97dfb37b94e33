// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/json_body.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "base/terminal.h"

namespace bloomwall::proxy {

using nlohmann::ordered_json;

tl::expected<ordered_json, std::string> read_json_body(std::string_view body) {
  using Parsed = ordered_json::parse_event_t;
  std::vector<std::set<std::string>> names;  // of the objects that are open, the innermost last
  std::string twice;
  bool has_twice = false;
  const auto look = [&](int, Parsed event, ordered_json& value) {
    if (event == Parsed::object_start) names.emplace_back();
    if (event == Parsed::object_end && !names.empty()) names.pop_back();
    if (event != Parsed::key || names.empty()) return true;
    if (!names.back().insert(value.get<std::string>()).second && !std::exchange(has_twice, true)) {
      twice = value.get<std::string>();
    }
    return true;
  };
  const bool has_nul = body.find('\0') != std::string_view::npos;  // the parser takes it for the end
  ordered_json json = has_nul ? ordered_json() : ordered_json::parse(body, look, false);
  if (!json.is_object()) return tl::unexpected(std::string("the body is not a JSON object"));
  if (has_twice) return tl::unexpected(fmt::format("{}: this member is there twice", printable(twice)));
  return json;
}

}  // namespace bloomwall::proxy
