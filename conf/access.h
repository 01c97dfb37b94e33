// `access:` who may use the proxy, and where it may go.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bloomwall::conf {

class MapReader;

struct Access {
  enum class SniMismatch : std::uint8_t { allow, log, deny };
  std::vector<std::string> clients{"127.0.0.0/8", "::1/128"};
  enum class OpaqueTunnels : std::uint8_t { allow, http, deny };
  enum class NoSni : std::uint8_t { allow, deny };
  std::vector<std::uint16_t> connect_ports{443, 80};  // empty: any
  // Judged on the address dialled: loopback, private, link_local, shared, multicast, unspecified, or a CIDR.
  std::vector<std::string> deny_destinations{"loopback", "private", "link_local", "shared", "multicast", "unspecified"};
  std::vector<std::string> allow_destinations;  // the most specific of the two wins
  SniMismatch sni_mismatch = SniMismatch::allow;
  NoSni no_sni = NoSni::allow;                         // a ClientHello without server_name
  OpaqueTunnels opaque_tunnels = OpaqueTunnels::http;  // what may pass through a tunnel beside TLS
  bool strict_path = false;                            // refuse every path that origins read in several ways
  friend bool operator==(const Access&, const Access&) = default;
};

void read(MapReader& map, Access& out);

}  // namespace bloomwall::conf
