// Percent-decoding and the one escape rule of canonical URLs. All functions append to `out`, read bytes of any value
// and take time linear in `in`; they allocate only where `out` has to grow.
// Fixpoint: "decode until nothing changes". Decoded bytes go on a stack; whenever its top three are % hex hex they
// become one byte, which may complete another escape below. Escapes never overlap ('%' is no hex digit), so this ends
// where repeated passes end, whose cost is quadratic on "%252525...".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/encoding.h"

namespace bloomwall::filter {

void append_decoded_fully(std::string_view in, std::string& out);  // to the fixpoint; what `out` held takes no part
void append_decoded_once(std::string_view in, std::string& out);   // one pass from left to right; "%zz" stays

void append_escapes_in_upper_case(std::string_view in, std::string& out);  // all else as it is

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

// The byte that the escape at in[at] ('%') stands for, or -1 where it is malformed.
constexpr int escape_at(std::string_view in, std::size_t at) { return hex_octet(in, at + 1); }

}  // namespace bloomwall::filter
