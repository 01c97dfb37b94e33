// `listeners:` where clients connect.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace bloomwall::conf {

class MapReader;

// Clients speak TLS to the proxy itself. Both or none.
struct ListenerTls {
  std::filesystem::path certificate, key;  // PEM files; read again by each reload
  friend bool operator==(const ListenerTls&, const ListenerTls&) = default;
};
void read(MapReader& map, ListenerTls& out);

struct Listener {
  enum class Mode : std::uint8_t { forward, transparent };
  std::string address = "127.0.0.1:3128";  // ip:port, [ip6]:port or :port (all addresses); port 0: the kernel chooses
  // transparent: clients know nothing of the proxy; a firewall redirects their connections here. Plain HTTP and TLS.
  Mode mode = Mode::forward;
  ListenerTls tls;  // empty: plain
  // Networks of load balancers. Not empty: whoever connects must be in one and begin with a PROXY header.
  std::vector<std::string> proxy_protocol;
  friend bool operator==(const Listener&, const Listener&) = default;
};

void read(MapReader& map, Listener& out);

}  // namespace bloomwall::conf
