// What the configuration says about dialling. A Snapshot is one; a Connector knows no more of it.
// Immutable. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "proxy/access/access_rules.h"
#include "proxy/dns/static_hosts.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

struct DialRules {
  AccessRules access;  // compiled from `access`
  StaticHosts hosts;   // from dns.hosts and /etc/hosts
  Milliseconds connect_timeout{0};

  // Access rules of addresses for requests to a parent: it resolves names itself, but literal addresses, and names with
  // configured addresses, are checked here.
  bool may_ask_parent_for(std::string_view host) const;
};

}  // namespace bloomwall::proxy
