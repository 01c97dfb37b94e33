// `listeners:` where clients connect.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace bloomwall::conf {

class MapReader;

struct Listener {
  std::string address = "127.0.0.1:3128";  // ip:port, [ip6]:port or :port (all addresses); port 0: the kernel chooses
  friend bool operator==(const Listener&, const Listener&) = default;
};

void read(MapReader& map, Listener& out);

}  // namespace bloomwall::conf
