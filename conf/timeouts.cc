// SPDX-License-Identifier: Apache-2.0
#include "conf/timeouts.h"

#include <chrono>

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Timeouts& out) {
  using namespace std::chrono_literals;
  constexpr Milliseconds kShortest = 1ms, kLongest = 24h;
  map.duration("request_header", out.request_header, kShortest, kLongest);
  map.duration("connect", out.connect, kShortest, kLongest);
  map.duration("response_header", out.response_header, kShortest, kLongest);
  map.duration("body", out.body, kShortest, kLongest);
  map.duration("idle", out.idle, kShortest, kLongest);
  map.duration("tunnel_idle", out.tunnel_idle, kShortest, 30 * kLongest);
  map.duration("tunnel_lifetime", out.tunnel_lifetime, 0ms, 30 * kLongest);
  map.duration("announce", out.announce, 0ms, kLongest);
  map.duration("drain", out.drain, 0ms, kLongest);
}

}  // namespace bloomwall::conf
