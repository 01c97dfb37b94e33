// IPv4 addresses as host names spell them: 1 to 4 parts, each decimal, 0octal or 0xhex, the last one filling what is
// left ("127.1", "0x7f000001", "017700000001"). Linear, allocates only where `out` grows.
// Source: the "ends in a number" rule of the WHATWG URL standard. A part over 255 is refused, not masked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::filter {

struct Ipv4Reading {
  bool ends_in_number = false;           // then it is an address or nothing: such a name must never be resolved
  std::optional<std::uint32_t> address;  // the first octet in the highest byte
};

// `host` in lower or upper case, without empty labels.
Ipv4Reading read_ipv4(std::string_view host);

// "a.b.c.d", each without leading zeros: the only spelling inside an IPv6 literal.
std::optional<std::uint32_t> read_dotted_ipv4(std::string_view text);

void append_ipv4(std::uint32_t address, std::string& out);  // dotted decimal

// IPv6 literals: any RFC 4291 spelling in, the one RFC 5952 spelling out. Constant time; no zone ids.
// Addresses that carry an IPv4 address for the connection layer (::ffff:0:0/96, and the NAT64 prefix 64:ff9b::/96) are
// written as that IPv4 address, because that is where the packets go.

using Ipv6Groups = std::array<std::uint16_t, 8>;

std::optional<Ipv6Groups> read_ipv6(std::string_view text);            // without brackets
std::optional<std::uint32_t> embedded_ipv4(const Ipv6Groups& groups);  // v4-mapped or NAT64
void append_ipv6(const Ipv6Groups& groups, std::string& out);          // "[2001:db8::1]"

}  // namespace bloomwall::filter
