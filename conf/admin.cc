// SPDX-License-Identifier: Apache-2.0
#include "conf/admin.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Admin& out) {
  constexpr std::size_t kLongestSocketPath = 107;  // sun_path less its end
  map.optional_text("address", out.address, kListenAddress);
  map.text_list("hosts", out.hosts, kHostName);
  map.optional_path("control_socket", out.control_socket);
  if (out.control_socket.native().size() > kLongestSocketPath) {
    map.fail("control_socket", "a socket's path may not be longer than 107 octets: " + out.control_socket.native());
  }
}

}  // namespace bloomwall::conf
