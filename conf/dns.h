// `dns:` how names become addresses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bloomwall::conf {

class MapReader;

struct Dns {
  std::vector<std::string> servers;          // ip or ip:port; empty: the system's
  std::map<std::string, std::string> hosts;  // lower-case name -> address; asked before any server
  std::vector<std::string> nat64_prefixes;   // IPv6 networks of RFC 6052, beside 64:ff9b::/96
  std::uint32_t cache_entries = 65536;       // 0 .. 10,000,000; 0: no cache
  friend bool operator==(const Dns&, const Dns&) = default;
};

void read(MapReader& map, Dns& out);

}  // namespace bloomwall::conf
