// What of a text is the key of a set of seen ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

enum class SeenKey : std::uint8_t {
  line,  // its octets
  url,   // the canonical text of its URL, "example.com/a?q" (CanonicalUrl::expression())
  host,  // its canonical host, "example.com"
};

inline constexpr std::size_t kLongestSeenUrl = std::size_t{64} << 10;  // octets; what is longer is no URL here

// One per thread, used again and again; allocates as Canonicaliser does.
class KeyText {
 public:
  struct Key {
    std::string_view octets;   // valid until the next call, while the text lives
    bool is_as_given = false;  // a text that is no URL or host, and therefore stands for its own octets
  };
  // A CR at the end belongs to the end of the line, but for SeenKey::line and where the text stands for its octets.
  Key of(SeenKey key, std::string_view text);

 private:
  Canonicaliser canonicaliser_;
  std::string expression_;
};

}  // namespace bloomwall::filter
