// SPDX-License-Identifier: Apache-2.0
#include "conf/utf8.h"

#include <cstdint>

namespace bloomwall::conf {
namespace {

// Length of the well-formed sequence at the start of `text`, 0 where there is none.
std::size_t sequence_length(std::string_view text) {
  const auto octet = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = octet(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  std::uint32_t point = 0, smallest = 0;
  if ((first & 0xe0) == 0xc0) {
    length = 2, point = first & 0x1fU, smallest = 0x80;
  } else if ((first & 0xf0) == 0xe0) {
    length = 3, point = first & 0x0fU, smallest = 0x800;
  } else if ((first & 0xf8) == 0xf0) {
    length = 4, point = first & 0x07U, smallest = 0x10000;
  }
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((octet(i) & 0xc0) != 0x80) return 0;
    point = (point << 6) | (octet(i) & 0x3fU);
  }
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  return point < smallest || point > 0x10ffff || surrogate ? 0 : length;
}

}  // namespace

std::optional<std::size_t> find_non_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
    const std::size_t length = control ? 0 : sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace bloomwall::conf
