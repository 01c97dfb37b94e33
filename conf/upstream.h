// `upstream:` the way out, where it is not the open net.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace bloomwall::conf {

class MapReader;

struct Upstream {
  std::optional<std::string> parent;  // host:port of a proxy for everything; nothing: origins are dialled directly
  bool tls = false;                   // the parent is spoken to in TLS, and verified
  std::filesystem::path ca_file;      // who may vouch for it, PEM; empty: the system's authorities
  std::filesystem::path
      credentials_file;             // one line user:password for the parent; empty: the client's own are passed on
  std::vector<std::string> bypass;  // domains (with what is below them) and networks that are dialled directly
  friend bool operator==(const Upstream&, const Upstream&) = default;
};

void read(MapReader& map, Upstream& out);

}  // namespace bloomwall::conf
