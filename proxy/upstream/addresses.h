// Addresses as access rules and the networks in filters are asked about them, and which of them are this process's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "filter/url/address.h"
#include "proxy/access/access_rules.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

// The addresses of a peer that network rules are checked with: its own, and the IPv4 address embedded in it for
// translators (AccessRules::embedded_in()).
class NetworkQuestion {
 public:
  NetworkQuestion(const Endpoint& peer, const AccessRules& access);
  std::span<const IpAddress> addresses() const { return {addresses_.data(), count_}; }

 private:
  std::array<IpAddress, 1 + EmbeddedAddresses::kMost> addresses_;
  std::size_t count_ = 0;
};

// Where this process listens, so that it never connects to itself.
class OwnAddresses {
 public:
  void add(const Endpoint& listening) { listening_.push_back(listening); }
  bool contains(const Endpoint& target) const;  // a wildcard listener matches every local address

 private:
  std::vector<Endpoint> listening_;
};

// Connections that a firewall redirected to a transparent listener: where each was meant to go, and which are our own.

// The original destination of an accepted socket (SO_ORIGINAL_DST of netfilter). Nothing where it was not redirected: a
// client that connects to the listener directly would make the proxy dial itself in a loop.
std::optional<Endpoint> original_destination(int accepted);

// Every connection this process has made, by both its ends: one that comes in with the same ends is its own, redirected
// by a rule that should have left it out, and each turn of that loop would make another. Kept only where a listener is
// transparent: a lock and a look-up for each connection to an origin. Threads: any.
class OwnConnections {
 public:
  // Stands for one connection while it lives.
  class Entry {
   public:
    Entry(OwnConnections* all, int connected, const Endpoint& far);  // nullptr: kept nowhere
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    OwnConnections* all_;
    Endpoint near_, far_;
  };
  bool contains(const Endpoint& client, const Endpoint& destination) const;

 private:
  using Key = std::array<std::uint8_t, 36>;  // address and port of both ends
  static Key key_of(const Endpoint& near, const Endpoint& far);
  mutable std::mutex mutex_;
  std::set<Key> connections_;  // guarded by mutex_
};

}  // namespace bloomwall::proxy
