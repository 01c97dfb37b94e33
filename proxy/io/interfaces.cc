// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/interfaces.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <bit>
#include <cstddef>
#include <memory>

#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {
namespace {

// "192.168.1.0/24" of an address and a mask, both in network order.
template <std::size_t kBytes>
std::string network_text(int family, std::array<unsigned char, kBytes> address,
                         const std::array<unsigned char, kBytes>& mask) {
  int prefix = 0;
  for (std::size_t i = 0; i < kBytes; ++i) {
    address[i] = static_cast<unsigned char>(address[i] & mask[i]);
    prefix += std::popcount(mask[i]);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(family, address.data(), text.data(), text.size()) == nullptr) return {};
  return fmt::format("{}/{}", text.data(), prefix);
}

std::string network_of(const ifaddrs& entry) {
  if (entry.ifa_netmask == nullptr) return {};
  if (entry.ifa_addr->sa_family == AF_INET) {
    const auto octets = [](const sockaddr* at) {
      return std::bit_cast<std::array<unsigned char, 4>>(reinterpret_cast<const sockaddr_in*>(at)->sin_addr);
    };
    return network_text(AF_INET, octets(entry.ifa_addr), octets(entry.ifa_netmask));
  }
  const auto octets = [](const sockaddr* at) {
    return std::bit_cast<std::array<unsigned char, 16>>(reinterpret_cast<const sockaddr_in6*>(at)->sin6_addr);
  };
  return network_text(AF_INET6, octets(entry.ifa_addr), octets(entry.ifa_netmask));
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
