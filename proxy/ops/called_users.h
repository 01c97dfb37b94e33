// Exceptions for users as they are published: a directory takes several spellings of a name for one user, who is called
// by one of them (AuthenticationRules::called()), and whoever makes an exception may have written another.
// Pure function; linear.
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

}  // namespace bloomwall::proxy
