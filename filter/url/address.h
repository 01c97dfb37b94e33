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

}  // namespace bloomwall::filter
