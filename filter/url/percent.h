// Percent-decoding and the one escape rule of canonical URLs. All functions append to `out`, read bytes of any value and
// take time linear in `in`; they allocate only where `out` has to grow.
// Fixpoint: "decode until nothing changes". Decoded bytes go on a stack; whenever its top three are % hex hex they become
// one byte, which may complete another escape below. Escapes never overlap ('%' is no hex digit), so this ends where
// repeated passes end, whose cost is quadratic on "%252525...".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace bloomwall::filter {

void append_decoded_fully(std::string_view in, std::string& out);  // to the fixpoint; what `out` held takes no part
void append_decoded_once(std::string_view in, std::string& out);   // one pass from left to right; "%zz" stays

// Bytes <= 0x20, >= 0x7F, '#' and '%' become %XX, upper case.
constexpr bool is_escaped_always(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte >= 0x7F || c == '#' || c == '%';
}
enum class Separators : std::uint8_t {
  plain,   // "/ \ ?" are written as they are
  escape,  // they are data of a segment and written %2F %5C %3F
};
void append_escaped(std::string_view in, Separators separators, std::string& out);

namespace percent_detail {
constexpr std::array<std::int8_t, 256> make_hex_table() {
  std::array<std::int8_t, 256> table{};
  for (auto& value : table) value = -1;
  for (unsigned i = 0; i < 10; ++i) table['0' + i] = static_cast<std::int8_t>(i);
  for (unsigned i = 0; i < 6; ++i) {
    table['a' + i] = static_cast<std::int8_t>(10 + i);
    table['A' + i] = static_cast<std::int8_t>(10 + i);
  }
  return table;
}
inline constexpr std::array<std::int8_t, 256> kHexValue = make_hex_table();
}  // namespace percent_detail

// 0..15, or -1 where c is no hex digit.
constexpr int hex_value(char c) { return percent_detail::kHexValue[static_cast<unsigned char>(c)]; }

// The byte that the escape at in[at] ('%') stands for, or -1 where it is malformed.
constexpr int escape_at(std::string_view in, std::size_t at) {
  if (in.size() - at < 3) return -1;
  const int high = hex_value(in[at + 1]);
  const int low = hex_value(in[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace bloomwall::filter
