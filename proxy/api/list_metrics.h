// What is counted of the lists of filters. Labels: the filter, and the number of the list in filters[].sources, from 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "conf/config.h"
#include "proxy/api/metric_families.h"
#include "proxy/update/lists_state.h"

namespace bloomwall::proxy {

void add_list_metrics(MetricFamilies& out, const conf::Config& settings, const ListsState& lists, std::int64_t now);

}  // namespace bloomwall::proxy
