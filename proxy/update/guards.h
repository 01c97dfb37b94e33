// Whether a list that was fetched may take the place of the last good one. Pure.
//   least      too few entries
//   unusable   too much of it cannot be used
//   stated     it has fewer entries than it says itself: it was cut
//   shrink     it lost too much of what the last good copy had
//   grow       it is too much larger
//   must_pass  it names a host that must pass
// What is no list at all ("no_list"), too large ("most_bytes") or has another digest ("sha256") never gets here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "conf/config.h"
#include "proxy/update/list_scan.h"
#include "proxy/update/lists_state.h"

namespace bloomwall::proxy {

struct Refusal {
  std::string guard = {};
  std::string what = {};
};

// `last`: of the copy that is there; one without entries is none.
std::optional<Refusal> refusal_of(const ListScan& scan, const SourceState& last, const conf::Guards& guards);

}  // namespace bloomwall::proxy
