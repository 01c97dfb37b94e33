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
  // Plain HTTP never goes there. The default: "bad port" of the Fetch standard, where other protocols listen that would
  // take the lines of a request for commands.
  std::vector<std::uint16_t> deny_ports{
      1,    7,    9,    11,   13,   15,   17,   19,   20,   21,   22,   23,   25,   37,   42,   43,   53,
      69,   77,   79,   87,   95,   101,  102,  103,  104,  109,  110,  111,  113,  115,  117,  119,  123,
      135,  137,  139,  143,  161,  179,  389,  427,  465,  512,  513,  514,  515,  526,  530,  531,  532,
      540,  548,  554,  556,  563,  587,  601,  636,  989,  990,  993,  995,  1719, 1720, 1723, 2049, 3659,
      4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080};
  // Judged on the address dialled: loopback, private, link_local, shared, multicast, unspecified, reserved, or a CIDR.
  std::vector<std::string> deny_destinations{"loopback",  "private",     "link_local", "shared",
                                             "multicast", "unspecified", "reserved"};
  std::vector<std::string> allow_destinations;  // the most specific of the two wins
  SniMismatch sni_mismatch = SniMismatch::allow;
  NoSni no_sni = NoSni::allow;                         // a ClientHello without server_name
  OpaqueTunnels opaque_tunnels = OpaqueTunnels::http;  // what may pass through a tunnel beside TLS
  bool strict_path = false;                            // refuse every path that origins read in several ways
  friend bool operator==(const Access&, const Access&) = default;
};

void read(MapReader& map, Access& out);

}  // namespace bloomwall::conf
