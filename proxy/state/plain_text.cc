// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace bloomwall::proxy {
namespace {

constexpr char32_t kNone = 0xffffffff;  // no UTF-8

struct Decoded {
  char32_t code = kNone;
  std::size_t size = 1;  // octets
};

// Overlong forms, surrogates and what lies beyond U+10FFFF are none.
Decoded decode(std::string_view text) {
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

bool is_blank_code(char32_t code) {
  return code == ' ' || code == '\t' || code == '\n' || code == '\r' || code == 0xa0 || code == 0x2028 ||
         code == 0x2029;
}

// Controls, and what is not seen but changes how other characters are: bidirectional controls (UAX 9), joiners and
// other format characters, variation selectors, tags.
bool is_hidden(char32_t code) {
  constexpr std::array<std::pair<char32_t, char32_t>, 14> kHidden{{{0x00, 0x1f},
                                                                   {0x7f, 0x9f},
                                                                   {0xad, 0xad},
                                                                   {0x61c, 0x61c},
                                                                   {0x180b, 0x180f},
                                                                   {0x200b, 0x200f},
                                                                   {0x202a, 0x202e},
                                                                   {0x2060, 0x206f},
                                                                   {0xfdd0, 0xfdef},
                                                                   {0xfe00, 0xfe0f},
                                                                   {0xfeff, 0xfeff},
                                                                   {0xfff0, 0xfffc},
                                                                   {0xfffe, 0xffff},
                                                                   {0xe0000, 0x10ffff}}};
  return std::ranges::any_of(kHidden,
                             [code](const auto& range) { return code >= range.first && code <= range.second; });
}

}  // namespace

std::string plain_text(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t characters = 0;
  bool has_blank = false;
  while (!text.empty() && characters < most) {
    const Decoded next = decode(text);
    const std::string_view octets = text.substr(0, next.size);
    text.remove_prefix(next.size);
    if (next.code == kNone) continue;
    if (is_blank_code(next.code)) {
      has_blank = !out.empty();
    } else if (!is_hidden(next.code)) {
      if (std::exchange(has_blank, false)) {
        if (characters + 2 > most) break;
        out.push_back(' ');
        ++characters;
      }
      out.append(octets);
      ++characters;
    }
  }
  return out;
}

}  // namespace bloomwall::proxy
