// One character of UTF-8 (RFC 3629).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bloomwall {

struct Utf8Character {
  static constexpr char32_t kNone = 0xffffffff;  // no UTF-8
  char32_t code = kNone;
  std::size_t size = 1;  // octets
};

// The first of a text that is not empty. Overlong forms, surrogates and what lies beyond U+10FFFF are none.
constexpr Utf8Character first_character(std::string_view text) {
  const auto octet = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const std::uint8_t first = octet(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  char32_t code = first & (0xffU >> (size + 1));
  for (std::size_t at = 1; at < size; ++at) {
    if ((octet(at) & 0xc0U) != 0x80U) return {};
    code = code << 6U | (octet(at) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[size] || code > 0x10ffff || is_surrogate) return {};
  return {code, size};
}

}  // namespace bloomwall
