// What is counted of logins, and of the programs that decide on some. Labels: enumerators, and the configuration's
// three names of helpers; never a user.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/api/metric_families.h"
#include "proxy/auth/authenticator.h"
#include "proxy/telemetry/login_counts.h"

namespace bloomwall::proxy {

void add_login_metrics(MetricFamilies& out, const LoginCounts& counts, const Authenticator::Figures& figures);

}  // namespace bloomwall::proxy
