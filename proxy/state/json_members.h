// Members of JSON objects that were written by others: read with their type, or not at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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
