// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/addresses.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "proxy/io/handles.h"

namespace bloomwall::proxy {
namespace {

// Whether packets to this address would come back to this machine: the kernel then picks the address itself, or a
// loopback one, as their source. Sends nothing.
bool is_local(const Endpoint& target) {
  if (!target.is_v6() && (ntohl(target.v4().s_addr) >> 24) == 127) return true;
  const UniqueFd probe(::socket(target.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe) return errno != EAFNOSUPPORT;  // it can't be asked now, and the next socket may be had
  if (::connect(probe.get(), target.raw(), target.raw_size()) != 0) return false;
  const auto source = local_end(probe.get());
  return source && source->same_ip(target);
}

}  // namespace

Address rule_address(const Endpoint& endpoint) {
  if (!endpoint.is_v6()) return Address::v4(ntohl(endpoint.v4().s_addr));
  Address address;
  std::memcpy(address.octets.data(), &endpoint.v6(), address.octets.size());
  return address;
}

Endpoint endpoint_of(const Address& address, std::uint16_t port) {
  in6_addr v6{};
  std::memcpy(&v6, address.octets.data(), address.octets.size());
  return Endpoint::from(v6, port).unmapped();
}

NetworkQuestion::NetworkQuestion(const Endpoint& peer, const AccessRules& access) {
  const Address address = rule_address(peer);
  const auto add = [this](const Address& next) { addresses_[count_++] = filter::address_of(next.octets); };
  add(address);
  const EmbeddedAddresses carried = access.embedded_in(address);
  for (const Address& one : carried.view()) add(one);
}

bool OwnAddresses::contains(const Endpoint& target) const {
  const Endpoint plain = target.unmapped();
  return std::any_of(listening_.begin(), listening_.end(), [&](const Endpoint& own) {
    if (own.port() != plain.port()) return false;
    return own.is_wildcard() ? plain.is_wildcard() || is_local(plain) : own.unmapped().same_ip(plain);
  });
}

}  // namespace bloomwall::proxy
