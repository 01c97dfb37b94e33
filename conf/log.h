// `log:` what is written where.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace bloomwall::conf {

class MapReader;

// `log.access:` one line a request.
struct AccessLog {
  enum class Format : std::uint8_t { json, combined, squid };
  std::string file = "stdout";  // a path, stdout, stderr or off
  Format format = Format::json;
  bool strip_query = false;  // write URLs without what follows '?'
  std::uint64_t queue =
      std::uint64_t{4} << 20;  // bytes a worker that wait for a slow disk, 64KiB .. 1GiB; more is dropped
  friend bool operator==(const AccessLog&, const AccessLog&) = default;
};

struct Log {
  enum class Level : std::uint8_t { debug, info, warning, error };
  Level level = Level::info;
  std::string file = "stderr";  // a path, stderr or stdout
  AccessLog access;
  friend bool operator==(const Log&, const Log&) = default;
};

void read(MapReader& map, AccessLog& out);

void read(MapReader& map, Log& out);

}  // namespace bloomwall::conf
