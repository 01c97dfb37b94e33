// SPDX-License-Identifier: Apache-2.0
#include "conf/dns.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Dns& out) {
  map.text_list("servers", out.servers, kDnsServer);
  map.text_map("hosts", out.hosts, kResolvedName, kIp);
  map.text_list("nat64_prefixes", out.nat64_prefixes, kNat64Prefix);
  map.integer("cache_entries", out.cache_entries, 0U, 10'000'000U);
}

}  // namespace bloomwall::conf
