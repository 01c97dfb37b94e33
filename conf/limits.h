// `limits:` how much anyone may take.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bloomwall::conf {

class MapReader;

struct Limits {
  std::uint64_t request_header = std::uint64_t{64} << 10;   // bytes, 1KiB .. 1MiB
  std::uint64_t response_header = std::uint64_t{64} << 10;  // bytes, 1KiB .. 16MiB
  std::uint32_t header_fields = 256;                        // of one head, 16 .. 10,000
  std::uint64_t request_body = 0;                           // bytes, 0 .. 1TiB; 0: no limit
  std::uint64_t least_rate = 64;            // bytes a second of a body, over timeouts.body, 0 .. 1GiB; 0: none
  std::uint32_t requests_per_second = 0;    // by address, 0 .. 1,000,000; 0: no limit
  std::uint32_t pooled_connections = 4096;  // idle, to origins, whole process, 0 .. 1,000,000
  std::uint32_t pooled_per_origin = 128;    // of these to one origin, of each worker, 0 .. 100,000
  std::uint64_t buffer_memory = std::uint64_t{1} << 30;  // bytes, whole process, 16MiB .. 1TiB
  std::uint32_t client_connections = 20'000;             // whole process, 1 .. 10,000,000
  std::uint32_t connections_per_client = 4096;           // by address; 0: no limit
  friend bool operator==(const Limits&, const Limits&) = default;
};

void read(MapReader& map, Limits& out);

}  // namespace bloomwall::conf
