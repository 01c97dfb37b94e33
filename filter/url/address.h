// IP addresses as hosts of URLs, and what browsers take for one. One that carries an IPv4 address for the connection
// layer (::ffff:0:0/96, and the NAT64 prefix 64:ff9b::/96) is that IPv4 address, because that is where the packets go.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip.h"
#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

// "192.0.2.1", "2001:db8::1", "[2001:db8::1]", as the host of a URL: where packets to it go (IpAddress::destination()).
std::optional<IpAddress> read_address(std::string_view text);
// The host of a canonical URL; nothing for a name.
std::optional<IpAddress> address_of(const CanonicalUrl& url);
// "192.0.2.1", "[2001:db8::1]": as the host of a URL is written.
std::string text_of(const IpAddress& address);
inline HostKind kind_of(const IpAddress& address) { return address.is_v4() ? HostKind::ipv4 : HostKind::ipv6; }

// IPv4 addresses as host names spell them: 1 to 4 parts, each decimal, 0octal or 0xhex, the last one filling what is
// left ("127.1", "0x7f000001", "017700000001"). Linear, allocates only where `out` grows.
// Source: the "ends in a number" rule of the WHATWG URL standard. A part over 255 is refused, not masked.
struct Ipv4Reading {
  bool ends_in_number = false;           // then it is an address or nothing: such a name must never be resolved
  std::optional<std::uint32_t> address;  // the first octet in the highest byte
};

// `host` in lower or upper case, without empty labels.
Ipv4Reading read_ipv4(std::string_view host);

}  // namespace bloomwall::filter
