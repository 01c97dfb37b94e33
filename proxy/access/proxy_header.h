// The header in which a load balancer gives the client's address: PROXY protocol, versions 1 (text) and 2 (binary).
// Bytes in, one result out; takes not one octet past the header. No I/O, no clock; one per connection.
// Malformed is: anything but a whole header in its first octets, a protocol other than TCP, addresses of another family
// than announced, ports over 65535, TLVs that do not fill the length, more than kMostBytes. LOCAL (2), UNKNOWN (1) and
// UNSPEC (2) give no address: the connection is the sender's own. TLVs are skipped.
// The result does not depend on how the bytes were cut. Errors are final.
// Source: The PROXY protocol, versions 1 & 2 (haproxy.org), sections 2.1 and 2.2.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "proxy/access/access_rules.h"

namespace bloomwall::proxy {

class ProxyHeaderReader {
 public:
  static constexpr std::size_t kMostTextBytes = 107;  // of version 1, with its CRLF
  static constexpr std::size_t kMostBytes = 4096;     // of version 2, with its TLVs

  enum class Result : std::uint8_t { need_more, done, malformed };
  struct Step {
    Result result = Result::need_more;
    std::size_t consumed = 0;
  };
  Step feed(std::span<const char> bytes);

  struct Source {
    IpAddress address;
    std::uint16_t port = 0;
  };
  const std::optional<Source>& source() const { return source_; }  // once done; nothing: the header gave no address

 private:
  Result look();
  Result look_at_text();
  Result look_at_binary();
  Result parse_text();
  Result parse_binary();

  std::string held_;
  Result result_ = Result::need_more;
  std::optional<Source> source_;
};

}  // namespace bloomwall::proxy
