// What several targets require of text that was taken from outside.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace bloomwall::fuzz {

// Without control octets: nothing that a log line, a terminal or a field of HTTP would take for more than text.
inline bool is_plain(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace bloomwall::fuzz
