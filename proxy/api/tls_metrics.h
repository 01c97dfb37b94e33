// What TLS inspection exports. Labels are bounded: each is the name of an enumerator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/api/metric_families.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/telemetry/counters.h"

namespace bloomwall::proxy {

void add_tls_metrics(MetricFamilies& out, const TlsCounts& counts);
void add_inspection_metrics(MetricFamilies& out, const TlsInspection& inspection);

}  // namespace bloomwall::proxy
