// `upstream:` the way out, where it is not the open net.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace bloomwall::conf {

class MapReader;

struct Upstream {
  std::optional<std::string> parent;  // host:port of a proxy for everything; nothing: origins are dialled directly
  friend bool operator==(const Upstream&, const Upstream&) = default;
};

void read(MapReader& map, Upstream& out);

}  // namespace bloomwall::conf
