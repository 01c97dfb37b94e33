// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/dial_rules.h"

#include <algorithm>

#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

bool DialRules::may_ask_parent_for(std::string_view host) const {
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const auto allowed = [this](const Endpoint& address) { return access.destination_allowed(address.address()); };
  if (const auto literal = Endpoint::parse_ip(host)) return allowed(*literal);
  return std::ranges::all_of(hosts.find(host), allowed);
}

}  // namespace bloomwall::proxy
