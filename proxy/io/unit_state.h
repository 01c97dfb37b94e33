// What systemd says of a unit. Blocking; for commands.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace bloomwall::proxy {

// "active", "inactive", "failed", ... of "bloomwall.service"; also of one that there is not: "inactive". Nothing: no
// systemd runs here, or it may not be asked.
std::optional<std::string> unit_state(const std::string& unit);

}  // namespace bloomwall::proxy
