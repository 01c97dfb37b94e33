// The head of an ICAP question (RFC 3507): what is asked for, what is encapsulated, and on whose behalf.
// Refused are heads that two servers could read in two ways: framing fields of HTTP, a Host or Encapsulated field that
// is missing or comes twice, lists in Encapsulated other than those of section 4.4.1, two different identities.
// Views are into the text that was parsed. Pure; linear.
// Source: RFC 3507; X-Client-IP and X-Authenticated-User: draft-stecher-icap-subid.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/ip.h"

namespace bloomwall::proxy {

inline constexpr std::size_t kMostIcapFields = 64;
inline constexpr std::size_t kMostIcapUser = 255;                             // octets
inline constexpr std::size_t kMostEncapsulatedHead = std::size_t{256} << 10;  // of the HTTP request

// The answer to a question that is none. `detail` is a literal.
struct IcapError {
  int status = 400;
  std::string_view detail = {};
};

struct IcapHead {
  enum class Method : std::uint8_t { options, reqmod };
  Method method = Method::options;
  std::string_view service = {};  // the URI's path without its first slash and without a query: "reqmod"
  bool keep_alive = true;
  bool allows_204 = false;               // also outside of a preview
  std::optional<std::uint64_t> preview;  // octets of the body that come first; nothing: all of it comes
  std::size_t http_octets = 0;           // of the encapsulated head; OPTIONS: 0
  bool has_body = false;
  // Who the HTTP request is from, as the asker says.
  std::optional<IpAddress> client = {};  // X-Client-IP
  // X-Authenticated-User, in base64, of which the part behind the last slash counts where it is "Scheme://..."; or
  // X-Client-Username, as it is. Empty: neither is there.
  std::string user = {};
};

// `text`: lines ended by CRLF, none of them folded, with the empty line.
tl::expected<IcapHead, IcapError> parse_icap_head(std::string_view text);

}  // namespace bloomwall::proxy
