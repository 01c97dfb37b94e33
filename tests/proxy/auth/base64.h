// Base64 for tests of credentials.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bloomwall::test {

inline std::string base64(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    const auto octet = [&](std::size_t i) {
      return at + i < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[at + i])) : 0U;
    };
    const unsigned bits = octet(0) << 16 | octet(1) << 8 | octet(2);
    for (unsigned i = 0; i < 4; ++i) out += at + i > text.size() ? '=' : kAlphabet[(bits >> (18 - 6 * i)) & 63];
  }
  return out;
}

}  // namespace bloomwall::test
