// SPDX-License-Identifier: Apache-2.0
#include "conf/limits.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, Limits& out) {
  constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kTiB = kMiB * 1024 * 1024;
  map.size("request_header", out.request_header, kKiB, kMiB);
  map.size("response_header", out.response_header, kKiB, 16 * kMiB);
  map.integer("header_fields", out.header_fields, 16U, 10'000U);
  map.size("request_body", out.request_body, 0, kTiB);
  map.size("least_rate", out.least_rate, 0, kTiB / 1024);
  map.integer("requests_per_second", out.requests_per_second, 0U, 1'000'000U);
  map.integer("pooled_connections", out.pooled_connections, 0U, 1'000'000U);
  map.integer("pooled_per_origin", out.pooled_per_origin, 0U, 100'000U);
  map.size("buffer_memory", out.buffer_memory, 16 * kMiB, kTiB);
  map.integer("client_connections", out.client_connections, 1U, 10'000'000U);
  map.integer("connections_per_client", out.connections_per_client, 0U, 10'000'000U);
}

}  // namespace bloomwall::conf
