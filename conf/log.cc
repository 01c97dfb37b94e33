// SPDX-License-Identifier: Apache-2.0
#include "conf/log.h"

#include "conf/yaml_reader.h"

namespace bloomwall::conf {

void read(MapReader& map, AccessLog& out) {
  constexpr std::uint64_t kKiB = 1024;
  map.path_or("file", out.file, {"stdout", "stderr", "off"});
  map.choice("format", out.format,
             {{"json", AccessLog::Format::json},
              {"combined", AccessLog::Format::combined},
              {"squid", AccessLog::Format::squid}});
  map.flag("strip_query", out.strip_query);
  map.size("queue", out.queue, 64 * kKiB, kKiB * kKiB * kKiB);
}

void read(MapReader& map, Log& out) {
  map.choice("level", out.level,
             {{"debug", Log::Level::debug},
              {"info", Log::Level::info},
              {"warning", Log::Level::warning},
              {"error", Log::Level::error}});
  map.path_or("file", out.file, {"stderr", "stdout"});
  map.section("access", out.access);
}

}  // namespace bloomwall::conf
