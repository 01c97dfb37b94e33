// Members of JSON objects that were written by others: read with their type, or not at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {

// Nothing where it is missing or of another type.
inline std::optional<std::string> text_member(const nlohmann::ordered_json& json, const char* name) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_string()) return std::nullopt;
  return at->get<std::string>();
}

// The first of `names` that is there and neither null nor a text of at least one octet; nullptr: none. To be asked
// wherever a member that is left out widens what is made: one of another type must not pass for one that is not there.
inline const char* member_that_is_no_text(const nlohmann::ordered_json& json,
                                          std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const auto at = json.find(name);
    if (at == json.end() || at->is_null()) continue;
    if (!at->is_string() || at->get_ref<const std::string&>().empty()) return name;
  }
  return nullptr;
}

inline std::optional<std::uint64_t> number_member(const nlohmann::ordered_json& json, const char* name) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_number_unsigned()) return std::nullopt;
  return at->get<std::uint64_t>();
}

// Missing and null: an empty list. Nothing where it is no list of texts of 1 to `longest` octets, or over `most`.
inline std::optional<std::vector<std::string>> texts_member(const nlohmann::ordered_json& json, const char* name,
                                                            std::size_t most, std::size_t longest) {
  std::vector<std::string> out;
  const auto at = json.find(name);
  if (at == json.end() || at->is_null()) return out;
  if (!at->is_array() || at->size() > most) return std::nullopt;
  for (const nlohmann::ordered_json& each : *at) {
    if (!each.is_string()) return std::nullopt;
    out.push_back(each.get<std::string>());
    if (out.back().empty() || out.back().size() > longest) return std::nullopt;
  }
  return out;
}

// On one line; octets that are no UTF-8 are replaced.
inline std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace bloomwall::proxy
