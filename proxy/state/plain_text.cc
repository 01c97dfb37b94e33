// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/utf8.h"

namespace bloomwall::proxy {
namespace {

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
    const Utf8Character next = first_character(text);
    const std::string_view octets = text.substr(0, next.size);
    text.remove_prefix(next.size);
    if (next.code == Utf8Character::kNone) continue;
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
