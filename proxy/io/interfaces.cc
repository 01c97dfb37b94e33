// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/interfaces.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <span>

#include "base/ip.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {
namespace {

// "192.168.1.0/24"; a mask is as good as its ones.
std::string network_of(const ifaddrs& entry) {
  if (entry.ifa_netmask == nullptr) return {};
  const IpAddress address = Endpoint::from(entry.ifa_addr).address();
  const IpAddress mask = Endpoint::from(entry.ifa_netmask).address();
  int ones = 0;
  for (const std::uint8_t octet : address.is_v4() ? mask.wire_octets() : std::span(mask.octets))
    ones += std::popcount(octet);
  const unsigned prefix = static_cast<unsigned>(ones) + (address.is_v4() ? kIpv4Prefix : 0);
  return IpNetwork{address.masked(prefix), static_cast<std::uint8_t>(prefix)}.text();
}

}  // namespace

std::vector<Interface> interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(first, ::freeifaddrs);
  std::vector<Interface> out;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr)) {
      continue;
    }
    out.push_back({.name = at->ifa_name,
                   .address = Endpoint::from(at->ifa_addr).ip(),
                   .network = network_of(*at),
                   .is_loopback = (at->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return out;
}

}  // namespace bloomwall::proxy
