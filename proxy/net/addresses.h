// Addresses as access rules and the networks in filters are asked about them, and which of them are this process's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "filter/url/address.h"
#include "proxy/access/access_rules.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

// The form in which access rules are asked.
Address rule_address(const Endpoint& endpoint);
Endpoint endpoint_of(const Address& address, std::uint16_t port);  // the way back

// The addresses of a peer that network rules are checked with: its own, and the IPv4 address embedded in it for
// translators (AccessRules::embedded_in()).
class NetworkQuestion {
 public:
  NetworkQuestion(const Endpoint& peer, const AccessRules& access);
  std::span<const filter::Address> addresses() const { return {addresses_.data(), count_}; }

 private:
  std::array<filter::Address, 1 + EmbeddedAddresses::kMost> addresses_;
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

}  // namespace bloomwall::proxy
