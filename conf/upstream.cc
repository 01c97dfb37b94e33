// SPDX-License-Identifier: Apache-2.0
#include "conf/upstream.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Upstream& out) { map.optional_text("parent", out.parent, kHostPort); }

}  // namespace bloomwall::conf
