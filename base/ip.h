// IP addresses and networks as values: the one reader, the one text form and the one rule about IPv4 inside IPv6 of
// both programs.
// An address is 16 octets. IPv4 is ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2), however it was written.
// Reading takes what RFC 4291 section 2.2 allows and nothing else: IPv4 as four decimal parts without leading zeros, no
// zones, no blanks, no octet 0. Writing is that of RFC 5952, and of IPv4 always the dotted form.
// Costs: constant; only texts are allocated. Threads: values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bloomwall {

struct IpAddress {
  std::array<std::uint8_t, 16> octets{};  // in the order of the network

  static IpAddress v4(std::uint32_t number);  // the first octet in the highest byte
  static IpAddress v4(std::span<const std::uint8_t, 4> octets);
  static std::optional<IpAddress> parse(std::string_view text);       // "192.0.2.1", "2001:db8::1"
  static std::optional<IpAddress> parse_host(std::string_view host);  // likewise, or "[2001:db8::1]" as in URLs

  bool is_v4() const;
  // The neighbours as numbers of 128 bits; behind the last comes the first.
  IpAddress next() const;
  IpAddress previous() const;
  std::uint32_t v4_number() const { return word(12); }  // of IPv4
  std::uint32_t word(std::size_t at) const;             // the four octets from there on, the first in the highest byte
  IpAddress masked(unsigned prefix) const;              // bits beyond the first 0 to 128 are zero
  // Where packets to this address go: the IPv4 address that 64:ff9b::/96 carries (RFC 6052), else the address itself.
  // To be asked of destinations alone: a client that comes through a translator is not the client of that address.
  IpAddress destination() const;

  std::string text() const;                           // "192.0.2.1", "2001:db8::1"
  void append_host(std::string& out) const;           // "192.0.2.1", "[2001:db8::1]": the host of a URL
  std::span<const std::uint8_t> wire_octets() const;  // 4 or 16, as in sockets and certificates

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

struct IpNetwork {
  IpAddress base;             // bits beyond the prefix are zero
  std::uint8_t prefix = 128;  // of all 16 octets: that of an IPv4 network is 96 longer than it is written

  // "10.0.0.0/8", "2001:db8::/32", "[2001:db8::]/32", or an address, which is a network of one. Bits beyond the prefix
  // are dropped: who has to refuse them compares with IpAddress::parse(). What is written with colons has a prefix of
  // IPv6: ::ffff:0:0/96 is all of IPv4.
  static std::optional<IpNetwork> parse(std::string_view text);
  bool contains(const IpAddress& address) const { return address.masked(prefix) == base; }
  std::string text() const;  // "10.0.0.0/8"; the prefix always
  friend auto operator<=>(const IpNetwork&, const IpNetwork&) = default;
};

inline constexpr unsigned kIpv4Prefix = 96;  // what comes before the octets of IPv4, in bits

}  // namespace bloomwall
