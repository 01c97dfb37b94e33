// Whether this machine can check the passwords of a users file as often as they must be checked: each user's once in
// `authentication.cache`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "proxy/auth/authentication_rules.h"

namespace bloomwall::proxy {

// A warning in one line where it cannot. Checks one password for each cost that the file's hashes have, kMostCosts of
// them: up to 300 ms each. Not for an event loop.
std::optional<std::string> find_password_overload(const AuthenticationRules& rules);

}  // namespace bloomwall::proxy
