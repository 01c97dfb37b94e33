// SPDX-License-Identifier: Apache-2.0
#include "conf/upstream.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Upstream& out) {
  map.optional_text("parent", out.parent, kHostPort);
  map.flag("tls", out.tls);
  map.optional_path("ca_file", out.ca_file);
  map.optional_path("credentials_file", out.credentials_file);
  map.text_list("bypass", out.bypass, kBypass);
  if (!out.ca_file.empty() && !out.tls) map.fail("ca_file", "goes with tls: true only");
}

}  // namespace bloomwall::conf
