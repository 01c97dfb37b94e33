// Users as people write them: a directory takes several spellings of a name for one user, who is called by one of them
// (AuthenticationRules::called()), but exceptions and questions may spell a user otherwise.
// Pure functions; linear.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "filter/policy/overrides.h"
#include "proxy/auth/authentication_rules.h"

namespace bloomwall::proxy {

// Adds, beside each of a user who is called otherwise, the same for that name; as written it may be that of a ticket.
// `rules`: nullptr: nobody logs in.
std::vector<filter::Override> with_called_users(std::vector<filter::Override> exceptions,
                                                const AuthenticationRules* rules);

// The user meant by `spelt`: by the users file, with the groups that it gives; else as a helper or a
// ticket would call the user, with these groups.
UserPtr user_meant_by(const AuthenticationRules& rules, const std::string& spelt,
                      const std::vector<std::string>& groups = {});

}  // namespace bloomwall::proxy
