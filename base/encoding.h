// Octets as text: base64 and base64url (RFC 4648), hexadecimal digits, escapes of URLs. One writer and one strict
// reader of each: a text that a reader takes is the one that the writer makes of the octets, but that hexadecimal
// digits are read in either case. So two different texts are never the same ticket or password. No locale.
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

// Base64 (section 4): groups of four digits, the last one filled up with '='.
std::string to_base64(std::string_view octets);
// Nothing where the text is not whole groups of digits, has '=' anywhere but at its end, or has bits set that belong to
// no octet. Blanks and line ends are no digits. The empty text is no octets.
std::optional<std::string> from_base64(std::string_view text);
// The same, appended to `out` after its memory was reserved, so that no copy of a password remains elsewhere. Where it
// returns false, a part may have been appended.
bool append_from_base64(std::string_view text, std::string& out);
bool is_base64(std::string_view text);  // whether from_base64() takes it

// Base64url (section 5), without padding: letters that a URL and a form take as they are.
std::string to_base64url(std::string_view octets);
std::optional<std::string> from_base64url(std::string_view text);

// Octets as hexadecimal digits: two each, the high half first.
inline constexpr std::string_view kHexDigits = "0123456789abcdef";
inline constexpr std::string_view kUpperHexDigits = "0123456789ABCDEF";

namespace encoding_detail {

constexpr std::array<std::int8_t, 256> make_hex_values() {
  std::array<std::int8_t, 256> table{};
  for (auto& value : table) value = -1;
  for (std::size_t i = 0; i < kHexDigits.size(); ++i) {
    table[static_cast<unsigned char>(kHexDigits[i])] = static_cast<std::int8_t>(i);
    table[static_cast<unsigned char>(kUpperHexDigits[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}
inline constexpr std::array<std::int8_t, 256> kHexValues = make_hex_values();

}  // namespace encoding_detail

// 0..15, or -1 where c is no hexadecimal digit, of either case.
constexpr int hex_value(char c) { return encoding_detail::kHexValues[static_cast<unsigned char>(c)]; }

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

std::string to_hex(std::span<const std::uint8_t> bytes);  // in lower case

// Whether all of it could be from to_hex(): names of files and identifiers have one spelling.
constexpr bool is_lower_hex(std::string_view text) {
  return text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

// "%2F", in upper case as RFC 3986 section 2.1 wants it.
constexpr std::array<char, 3> percent_escape(char c) {
  const auto octet = static_cast<unsigned char>(c);
  return {'%', kUpperHexDigits[octet >> 4U], kUpperHexDigits[octet & 15U]};
}
inline void append_percent_escape(char c, std::string& out) {
  const std::array<char, 3> escape = percent_escape(c);
  out.append(escape.data(), escape.size());
}

}  // namespace bloomwall
