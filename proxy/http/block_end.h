// Until when a request that was blocked stays blocked, for the answer to it (proxy/access/block_end.h finds it out).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/time_zone.h"

namespace bloomwall::proxy {

struct BlockEnd {
  Instant at = 0;             // it passes from then on; 0: no end is known
  std::string schedule = {};  // by which it is blocked now: "bedtime"; empty: by none, or by a switch or an exception
  bool is_known() const { return at != 0; }
};

}  // namespace bloomwall::proxy
