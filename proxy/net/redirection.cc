// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/redirection.h"

#include <linux/netfilter_ipv4.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace bloomwall::proxy {
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
