// The policy that commands ask when no running proxy is asked: the filters of the configuration, checked page by
// page as they are read, and the exceptions of the state folder over them.
// Cost: that of mapping the files. Thread: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "proxy/reload/loading.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {

// Exceptions that cannot be read are left out, and `err` is told. `made`: what could be read of them, and of switches,
// which the policy has not; may be null.
Loaded<PolicyPtr> load_policy_of_files(const conf::Config& settings, std::ostream& err, ExportedState* made = nullptr);

// What was found damaged since: then no answer counts. Printed as errors; true where there was any.
bool print_damage(const filter::Policy& policy, std::ostream& err);

}  // namespace bloomwall::proxy
