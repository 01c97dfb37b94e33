// `tls_inspection:` looking into HTTPS.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bloomwall::conf {

class MapReader;

struct TlsInspection {
  enum class Mode : std::uint8_t { off };
  Mode mode = Mode::off;
  friend bool operator==(const TlsInspection&, const TlsInspection&) = default;
};

void read(MapReader& map, TlsInspection& out);

}  // namespace bloomwall::conf
