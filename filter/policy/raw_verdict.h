// What filters say of a raw key (Policy::judge_raw).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "filter/policy/policy.h"

namespace bloomwall::filter {

struct LoadedFilter;

// Thread-safe; allocates only where something matches.
Verdict raw_key_verdict(const std::vector<LoadedFilter>& filters, Otherwise otherwise, std::string_view bytes);

}  // namespace bloomwall::filter
