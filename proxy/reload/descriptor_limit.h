// The limit of open file descriptors, and how many clients fit into it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "conf/config.h"

namespace bloomwall::proxy {

// The most descriptors that these settings can need: two for each client (its own and the one to the origin), one for
// each idle connection to an origin, some for each worker, the rest for logs, filters and listeners.
std::uint64_t descriptors_for(const conf::Config& settings);

// Raises RLIMIT_NOFILE as far as the hard limit (and, with the privilege, beyond it) to `wanted`; never lowers it.
// Returns the limit in force.
std::uint64_t raise_descriptor_limit(std::uint64_t wanted);

// Lowers limits.pooled_connections (to an eighth at most) and limits.client_connections to what fits into `available`
// descriptors. Returns the sentence for the log, with the numbers before and after; nothing where all of it fits.
std::optional<std::string> fit_clients(conf::Config& settings, std::uint64_t available);

// How many these settings need, how many there are, and what that means, for people.
std::string descriptors_text(const conf::Config& settings, std::uint64_t available);

}  // namespace bloomwall::proxy
