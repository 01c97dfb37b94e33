// SPDX-License-Identifier: Apache-2.0
#include "conf/listeners.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Listener& out) { map.text("address", out.address, kListenAddress); }

}  // namespace bloomwall::conf
