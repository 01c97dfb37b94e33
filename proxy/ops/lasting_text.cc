// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/lasting_text.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/units.h"

namespace bloomwall::proxy {

tl::expected<nlohmann::ordered_json, std::string> end_after(const std::string& lasts) {
  if (lasts == "ever") return nlohmann::ordered_json(nullptr);
  const auto duration = parse_duration(lasts);
  constexpr Milliseconds kLongest = std::chrono::hours(24 * 3650);
  if (!duration || *duration < Milliseconds(1000) || *duration > kLongest) {
    return tl::unexpected(fmt::format("--for {}: 1s to 3650d, such as 30m, 12h or 7d, or ever", lasts));
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*duration).count();
  return nlohmann::ordered_json(format_time(static_cast<std::uint64_t>(std::time(nullptr) + seconds)));
}

}  // namespace bloomwall::proxy
