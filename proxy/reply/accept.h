// Content negotiation for the proxy's own answers.
// Source: RFC 9110 section 12.5.1: the most specific range that matches a type gives its quality.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace bloomwall::proxy {

// In the order preferred where a client likes several equally well.
enum class MediaType : std::uint8_t { html, json, text };

// The best of the three for an Accept value. HTML for clients that name it, as browsers do for navigation (text/html or
// application/xhtml+xml), and without Accept; JSON for clients that name it or application/*; all others (pictures,
// scripts, curl: "*/*") get text, which is short. Of equal qualities the type named most specifically wins; nothing
// acceptable: text. At most 64 ranges are read.
MediaType choose_media(std::string_view accept);
std::string_view content_type(MediaType type);  // with charset

// One element of Accept, Accept-Language and the like.
struct AcceptedRange {
  std::string_view value;   // without parameters
  unsigned quality = 1000;  // thousandths; 0: not wanted, or malformed
};
AcceptedRange parse_accepted(std::string_view element);

}  // namespace bloomwall::proxy
