// Octets as hexadecimal digits: two each, the high half first. No locale.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bloomwall {
namespace hex_detail {

constexpr std::array<std::int8_t, 256> make_table() {
  std::array<std::int8_t, 256> table{};
  for (auto& value : table) value = -1;
  for (unsigned i = 0; i < 10; ++i) table['0' + i] = static_cast<std::int8_t>(i);
  for (unsigned i = 0; i < 6; ++i) {
    table['a' + i] = static_cast<std::int8_t>(10 + i);
    table['A' + i] = static_cast<std::int8_t>(10 + i);
  }
  return table;
}
inline constexpr std::array<std::int8_t, 256> kValues = make_table();

}  // namespace hex_detail

// 0..15, or -1 where c is no hexadecimal digit, of either case.
constexpr int hex_value(char c) { return hex_detail::kValues[static_cast<unsigned char>(c)]; }

// The octet that two digits from text[at] stand for, or -1 where there are no two digits.
constexpr int hex_octet(std::string_view text, std::size_t at) {
  if (text.size() < 2 || at > text.size() - 2) return -1;
  const int high = hex_value(text[at]);
  const int low = hex_value(text[at + 1]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// Exactly kBytes octets; nothing for a text of any other length or with another octet in it.
template <std::size_t kBytes>
constexpr std::optional<std::array<std::uint8_t, kBytes>> parse_hex(std::string_view text) {
  std::array<std::uint8_t, kBytes> out{};
  if (text.size() != 2 * kBytes) return std::nullopt;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const int octet = hex_octet(text, 2 * i);
    if (octet < 0) return std::nullopt;
    out[i] = static_cast<std::uint8_t>(octet);
  }
  return out;
}

inline std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace bloomwall
