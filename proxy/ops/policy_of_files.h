// The policy that commands ask when no running proxy is asked: the filters of the configuration, not verified, and the
// exceptions of the state folder over them.
// Cost: that of mapping the files. Thread: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <vector>

#include "filter/policy/overrides.h"
#include "proxy/ops/loading.h"

namespace bloomwall::proxy {

// Exceptions that cannot be read are left out, and `err` is told. `made`: the others; may be null.
Loaded<PolicyPtr> load_policy_of_files(const conf::Config& settings, std::ostream& err,
                                       std::vector<filter::Override>* made = nullptr);

}  // namespace bloomwall::proxy
