// Addresses as access rules are asked about them, and which of them are this process's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "proxy/http/access_rules.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

// The form in which access rules are asked.
Address rule_address(const Endpoint& endpoint);
Endpoint endpoint_of(const Address& address, std::uint16_t port);  // the way back

// Where this process listens, so that it never connects to itself.
class OwnAddresses {
 public:
  void add(const Endpoint& listening) { listening_.push_back(listening); }
  bool contains(const Endpoint& target) const;  // wildcard listeners stand for every local address

 private:
  std::vector<Endpoint> listening_;
};

}  // namespace bloomwall::proxy
