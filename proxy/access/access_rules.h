// Access rules: which clients may use the proxy, and which destinations it may connect to, as sets of networks.
// An address with an embedded IPv4 address is also checked as that one, and the worse answer counts: v4-mapped,
// v4-compatible, NAT64 (64:ff9b::/96, 64:ff9b:1::/48, dns.nat64_prefixes; RFC 6052 section 2.2 says where), SIIT
// ::ffff:0:a.b.c.d, 6to4 2002::/16, Teredo 2001::/32, ISATAP ...:0:5efe:a.b.c.d.
// Groups: loopback 127/8 ::1; private 10/8 172.16/12 192.168/16 fc00::/7 fec0::/10; link_local 169.254/16 fe80::/10;
// shared 100.64/10; multicast 224/4 ff00::/8 255.255.255.255; unspecified 0/8 ::; reserved: what else the IANA
// registries of special-purpose addresses hold and no public server has.
// Immutable once built, thread-safe; a question costs O(number of distinct prefix lengths), no allocation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "base/ip.h"
#include "conf/config.h"
#include "proxy/access/address_words.h"

namespace bloomwall::proxy {

// Blocks sorted for longest-prefix questions.
class CidrSet {
 public:
  // Each rule a CIDR, an address or a group name; the error is the rule that is none of them.
  static tl::expected<CidrSet, std::string> build(const std::vector<std::string>& rules);
  // Length of the most specific block that holds the address; nothing where none does.
  std::optional<unsigned> longest(const IpAddress& address) const;
  bool contains(const IpAddress& address) const { return longest(address).has_value(); }
  bool empty() const { return bases_.empty(); }

 private:
  struct Length {  // the blocks with one prefix length
    unsigned prefix;
    AddressWords mask;
    std::uint32_t begin, end;  // in bases_
  };

  std::vector<AddressWords> bases_;  // of the blocks, by prefix length (longest first), then in order
  std::vector<Length> lengths_;      // in that order
};

// IPv4 addresses that packets to an IPv6 address end at, or come from, once a translator has seen them.
struct EmbeddedAddresses {
  static constexpr std::size_t kMost = 3;
  std::array<IpAddress, kMost> addresses;
  std::size_t count = 0;
  void add(std::uint32_t v4) { addresses[count++] = IpAddress::v4(v4); }
  std::span<const IpAddress> view() const { return {addresses.data(), count}; }
};

class AccessRules {
 public:
  // `nat64_prefixes`: of dns; each is allowed as such, unless a more specific rule denies it. Error: key and rule.
  static tl::expected<AccessRules, std::string> build(const conf::Access& access,
                                                      const std::vector<std::string>& nat64_prefixes = {});
  bool client_allowed(const IpAddress& client) const;
  bool port_allowed(std::uint16_t connect_port) const;
  bool http_port_allowed(std::uint16_t port) const;  // of a request that is no CONNECT
  // Most specific of deny and allow wins; allow on a tie, because an allow rule is there to be an exception ("allow
  // private" beside the default denial of it). Nothing matches: allowed. To be asked for the address dialled.
  bool destination_allowed(const IpAddress& destination) const;
  // What destination_allowed() is asked for besides the address itself.
  EmbeddedAddresses embedded_in(const IpAddress& destination) const;

 private:
  CidrSet clients_, deny_, allow_;
  std::vector<IpNetwork> nat64_;             // the longest first
  std::vector<std::uint16_t> ports_;         // sorted; empty: any
  std::vector<std::uint16_t> denied_ports_;  // sorted
};

}  // namespace bloomwall::proxy
