// SPDX-License-Identifier: Apache-2.0
#include "conf/access.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Access& out) {
  map.text_list("clients", out.clients, kNetwork);
  map.port_list("connect_ports", out.connect_ports);
  map.port_list("deny_ports", out.deny_ports);
  map.text_list("deny_destinations", out.deny_destinations, kDestination);
  map.text_list("allow_destinations", out.allow_destinations, kDestination);
  map.choice(
      "sni_mismatch", out.sni_mismatch,
      {{"allow", Access::SniMismatch::allow}, {"log", Access::SniMismatch::log}, {"deny", Access::SniMismatch::deny}});
  map.choice("no_sni", out.no_sni, {{"allow", Access::NoSni::allow}, {"deny", Access::NoSni::deny}});
  map.choice("opaque_tunnels", out.opaque_tunnels,
             {{"allow", Access::OpaqueTunnels::allow},
              {"http", Access::OpaqueTunnels::http},
              {"deny", Access::OpaqueTunnels::deny}});
  map.flag("strict_path", out.strict_path);
}

}  // namespace bloomwall::conf
