// IPv6 literals: any RFC 4291 spelling in, the one RFC 5952 spelling out. Constant time; no zone ids.
// Addresses that carry an IPv4 address for the connection layer (::ffff:0:0/96, and the NAT64 prefix 64:ff9b::/96) are
// written as that IPv4 address, because that is where the packets go.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bloomwall::filter {

using Ipv6Groups = std::array<std::uint16_t, 8>;

std::optional<Ipv6Groups> read_ipv6(std::string_view text);            // without brackets
std::optional<std::uint32_t> embedded_ipv4(const Ipv6Groups& groups);  // v4-mapped or NAT64
void append_ipv6(const Ipv6Groups& groups, std::string& out);          // "[2001:db8::1]"

}  // namespace bloomwall::filter
