// What a field or a word of a feed is, judged by itself: for guessing what a table is about, and for telling a host from a word.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace bloomwall::filter {

enum class Indicator : std::uint8_t {
  none,
  url,   // "scheme://"
  host,  // a name under a top-level domain or an address, with or without a port and a path; a range of addresses
  hash,  // MD5, SHA-1, SHA-256 in hexadecimal digits
};

// `text` without blanks around it. About a microsecond.
Indicator indicator_of(std::string_view text);

}  // namespace bloomwall::filter
