// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "proxy/doctor/checks.h"

namespace bloomwall::proxy {

Diagnosis check_fallbacks(const Running& running) {
  Diagnosis out;
  for (const auto& [filter, why] : running.fallbacks) {
    out.push_back({Grade::wrong, "served",
                   fmt::format("filter {}: its last good files are served, since its own were refused at the start: {}",
                               filter, why),
                   "mend its files (bloomwall check), then bloomwall reload"});
  }
  return out;
}

}  // namespace bloomwall::proxy
