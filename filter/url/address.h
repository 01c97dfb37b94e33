// IP addresses as values: of a literal in a URL, of a connection that is about to be made.
// IPv4 addresses inside IPv6 (::ffff:0:0/96, 64:ff9b::/96) are IPv4 addresses, because that is where the packets go.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

// In the order of the network; of IPv4 the first four octets count, the others are 0. `kind` is ipv4 or ipv6.
struct Address {
  HostKind kind = HostKind::ipv4;
  std::array<std::uint8_t, 16> octets{};
  friend auto operator<=>(const Address&, const Address&) = default;
};

Address address_of(std::uint32_t ipv4);  // the first octet in the highest byte
Address address_of(std::span<const std::uint8_t, 4> ipv4);
Address address_of(std::span<const std::uint8_t, 16> ipv6);  // of kind ipv4 where it carries one
// "192.0.2.1", "2001:db8::1", "[2001:db8::1]"; IPv4 with four parts and without leading zeros.
std::optional<Address> read_address(std::string_view text);
// The same, but one that carries an IPv4 address stays IPv6: the ends of a range.
std::optional<Address> read_address_as_written(std::string_view text);
// The host of a canonical URL; nothing for a name.
std::optional<Address> address_of(const CanonicalUrl& url);
std::uint32_t ipv4_of(const Address& address);  // of kind ipv4; the first octet in the highest byte
// The neighbours, of the same kind; behind the last address comes the first one.
Address next(Address address);
Address previous(Address address);
// "192.0.2.1", "[2001:db8::1]": as the host of a URL is written.
std::string text_of(const Address& address);

// IPv4 addresses as host names spell them: 1 to 4 parts, each decimal, 0octal or 0xhex, the last one filling what is
// left ("127.1", "0x7f000001", "017700000001"). Linear, allocates only where `out` grows.
// Source: the "ends in a number" rule of the WHATWG URL standard. A part over 255 is refused, not masked.
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
