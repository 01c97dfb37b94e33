// `admin:` doors for the people who run the proxy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bloomwall::conf {

class MapReader;

struct Admin {
  std::optional<std::string> address = "127.0.0.1:9128";  // /healthz /readyz /metrics; nothing: off
  std::vector<std::string> hosts;                         // names it may be asked by, beside localhost and IP addresses
  std::filesystem::path control_socket = "/run/bloomwall/control.sock";  // for `bloomwall reload`; empty: off
  friend bool operator==(const Admin&, const Admin&) = default;
};

void read(MapReader& map, Admin& out);

}  // namespace bloomwall::conf
