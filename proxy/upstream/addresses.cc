// SPDX-License-Identifier: Apache-2.0

#include "proxy/upstream/addresses.h"

#include <linux/netfilter_ipv4.h>
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

NetworkQuestion::NetworkQuestion(const Endpoint& peer, const AccessRules& access) {
  const IpAddress address = peer.address();
  const auto add = [this](const IpAddress& next) { addresses_[count_++] = next.destination(); };
  add(address);
  const EmbeddedAddresses carried = access.embedded_in(address);
  for (const IpAddress& one : carried.view()) add(one);
}

bool OwnAddresses::contains(const Endpoint& target) const {
  const Endpoint plain = target.unmapped();
  return std::any_of(listening_.begin(), listening_.end(), [&](const Endpoint& own) {
    if (own.port() != plain.port()) return false;
    return own.is_wildcard() ? plain.is_wildcard() || is_local(plain) : own.unmapped().same_ip(plain);
  });
}

namespace {

// The same number as SO_ORIGINAL_DST; its own header does not go together with <netinet/in.h>.
constexpr int kOriginalDestinationV6 = 80;  // IP6T_SO_ORIGINAL_DST

}  // namespace

std::optional<Endpoint> original_destination(int accepted) {
  const auto bound = local_end(accepted);
  if (!bound) return std::nullopt;
  const Endpoint local = bound->unmapped();
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  const int level = local.is_v6() ? IPPROTO_IPV6 : IPPROTO_IP;
  const int option = local.is_v6() ? kOriginalDestinationV6 : SO_ORIGINAL_DST;
  if (::getsockopt(accepted, level, option, &name, &size) != 0) return std::nullopt;
  const Endpoint meant = Endpoint::from(reinterpret_cast<const sockaddr*>(&name));
  if (meant == local) return std::nullopt;
  return meant;
}

OwnConnections::Key OwnConnections::key_of(const Endpoint& near, const Endpoint& far) {
  Key key{};
  auto out = key.begin();
  for (const Endpoint& end : {near.unmapped(), far.unmapped()}) {
    const auto* octets = end.is_v6() ? reinterpret_cast<const std::uint8_t*>(&end.v6())
                                     : reinterpret_cast<const std::uint8_t*>(&end.v4());
    std::copy_n(octets, end.is_v6() ? sizeof(in6_addr) : sizeof(in_addr), out);
    const std::uint16_t port = end.port();
    out[16] = static_cast<std::uint8_t>(port >> 8U);
    out[17] = static_cast<std::uint8_t>(port & 0xffU);
    out += 18;
  }
  return key;
}

OwnConnections::Entry::Entry(OwnConnections* all, int connected, const Endpoint& far) : all_(all), far_(far) {
  const auto near = all_ == nullptr ? std::nullopt : local_end(connected);
  if (!near) {
    all_ = nullptr;
    return;
  }
  near_ = *near;
  const std::lock_guard lock(all_->mutex_);
  all_->connections_.insert(key_of(near_, far_));
}

OwnConnections::Entry::~Entry() {
  if (all_ == nullptr) return;
  const std::lock_guard lock(all_->mutex_);
  all_->connections_.erase(key_of(near_, far_));
}

bool OwnConnections::contains(const Endpoint& client, const Endpoint& destination) const {
  const std::lock_guard lock(mutex_);
  return connections_.contains(key_of(client, destination));
}

}  // namespace bloomwall::proxy
