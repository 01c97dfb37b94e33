// Classes of octets in HTTP/1 messages, one table look-up each.
// Source: RFC 9110 section 5.6.2 (tchar), RFC 3986 sections 2.2 and 3.2.2 (reg-name).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace bloomwall::proxy {

namespace octets {

enum Class : std::uint8_t { token = 1, reg_name = 2, digit = 4, hex = 8, field_text = 16 };

constexpr std::array<std::uint8_t, 256> make_table() {
  std::array<std::uint8_t, 256> table{};
  const auto add = [&](std::string_view set, std::uint8_t what) {
    for (const char c : set) table[static_cast<std::uint8_t>(c)] |= what;
  };
  constexpr std::string_view alpha = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  add(alpha, token | reg_name);
  add("0123456789", token | reg_name | digit | hex);
  add("abcdefABCDEF", hex);
  add("!#$%&'*+-.^_`|~", token);
  add("-._~%!$&'()*+,;=", reg_name);
  for (unsigned c = 0x20; c <= 0xff; ++c) {
    if (c != 0x7f) table[c] |= field_text;
  }
  table['\t'] |= field_text;
  return table;
}
inline constexpr std::array<std::uint8_t, 256> kTable = make_table();

}  // namespace octets

constexpr bool is(octets::Class what, char c) { return (octets::kTable[static_cast<std::uint8_t>(c)] & what) != 0; }
constexpr bool all(octets::Class what, std::string_view text) {
  for (const char c : text) {
    if (!is(what, c)) return false;
  }
  return true;
}
// Text without control octets but HTAB: a loop without branches, which compilers turn into vector code.
constexpr bool is_field_text(std::string_view text) {
  unsigned found = 0;
  for (const char c : text) {
    const auto octet = static_cast<std::uint8_t>(c);
    found |= static_cast<unsigned>(octet < 0x20) & static_cast<unsigned>(octet != '\t');
    found |= static_cast<unsigned>(octet == 0x7f);
  }
  return found == 0;
}
// What a request target may hold; likewise, for targets may be long. Octets >= 0x80 too: no URL has them, but clients
// send raw UTF-8 in paths. Backslashes in the query alone: browsers send them there as they are, and in a path as
// slashes, for which servers take them or not.
constexpr bool is_target_text(std::string_view text) {
  unsigned found = 0;
  for (const char c : text) {
    const auto octet = static_cast<std::uint8_t>(c);
    found |= static_cast<unsigned>(octet <= 0x20) | static_cast<unsigned>(octet == 0x7f);
    found |= static_cast<unsigned>(octet == '#');
  }
  return found == 0 && text.substr(0, text.find('?')).find('\\') == std::string_view::npos;
}
constexpr bool is_token(std::string_view text) { return !text.empty() && all(octets::token, text); }
constexpr bool is_control(char c) { return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7f; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace bloomwall::proxy
