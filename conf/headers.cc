// SPDX-License-Identifier: Apache-2.0
#include "conf/headers.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Headers& out) {
  map.flag("via", out.via);
  map.text("via_name", out.via_name, kToken);
  map.choice("x_forwarded_for", out.x_forwarded_for,
             {{"off", Headers::ForwardedFor::off},
              {"append", Headers::ForwardedFor::append},
              {"delete", Headers::ForwardedFor::delete_field}});
}

}  // namespace bloomwall::conf
