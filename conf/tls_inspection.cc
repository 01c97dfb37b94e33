// SPDX-License-Identifier: Apache-2.0
#include "conf/tls_inspection.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, TlsInspection& out) { map.choice("mode", out.mode, {{"off", TlsInspection::Mode::off}}); }

}  // namespace bloomwall::conf
