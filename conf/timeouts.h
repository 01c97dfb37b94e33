// `timeouts:` how long each wait may last.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/units.h"

namespace bloomwall::conf {

class MapReader;

struct Timeouts {
  Milliseconds request_header{10'000};   // from the first byte of a request to the end of its head
  Milliseconds connect{10'000};          // resolving and dialling, all addresses together
  Milliseconds response_header{60'000};  // from the end of the request to the end of the response's head
  Milliseconds body{60'000};             // a body, of request or response, without progress
  Milliseconds idle{60'000};             // a connection between requests, of a client or to an origin
  Milliseconds tunnel_idle{600'000};     // a tunnel without a byte in either direction
  Milliseconds tunnel_lifetime{0};       // a tunnel in all; 0: no limit
  Milliseconds announce{5'000};          // SIGTERM: listeners stay open for so long, while answers close; 0: not at all
  Milliseconds drain{30'000};            // after that: what is still under way then is cut
  friend bool operator==(const Timeouts&, const Timeouts&) = default;
};

void read(MapReader& map, Timeouts& out);

}  // namespace bloomwall::conf
