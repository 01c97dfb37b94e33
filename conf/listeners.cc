// SPDX-License-Identifier: Apache-2.0
#include "conf/listeners.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, ListenerTls& out) {
  map.optional_path("certificate", out.certificate);
  map.optional_path("key", out.key);
  if (out.certificate.empty() != out.key.empty()) {
    map.fail(out.key.empty() ? "certificate" : "key", "certificate and key go together");
  }
}

void read(MapReader& map, Listener& out) {
  map.text("address", out.address, kListenAddress);
  map.choice("mode", out.mode, {{"forward", Listener::Mode::forward}, {"transparent", Listener::Mode::transparent}});
  map.section("tls", out.tls);
  map.text_list("proxy_protocol", out.proxy_protocol, kNetwork);
  if (out.mode == Listener::Mode::forward) return;
  if (!out.tls.certificate.empty()) map.fail("tls", "goes with mode: forward only");
  if (!out.proxy_protocol.empty()) map.fail("proxy_protocol", "goes with mode: forward only");
}

}  // namespace bloomwall::conf
