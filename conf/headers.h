// `headers:` what the proxy says of itself and of its clients.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace bloomwall::conf {

class MapReader;

struct Headers {
  enum class ForwardedFor : std::uint8_t { off, append, delete_field };  // YAML: off | append | delete
  bool via = true;
  std::string via_name = "bloomwall";  // the pseudonym in Via and Proxy-Status: a token
  ForwardedFor x_forwarded_for = ForwardedFor::off;
  friend bool operator==(const Headers&, const Headers&) = default;
};

void read(MapReader& map, Headers& out);

}  // namespace bloomwall::conf
