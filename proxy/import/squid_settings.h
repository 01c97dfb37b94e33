// Directives of squid.conf other than ACLs and rules: which key of ours each one is, and what to say of those that are
// none. Source: Squid 5's squid.conf.documented.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/import/config_lines.h"
#include "proxy/import/rule_model.h"
#include "proxy/import/squid_acls.h"

namespace bloomwall::proxy::foreign {

// Puts a line into Imported::settings and reports it. A directive that nothing is known of is reported as not taken.
void take_setting(const ConfigLine& line, const SquidAcls& acls, Imported& out);

// Whether the program of an external_acl_type (the words behind that name) tells groups of users, and is the one that
// authentication.groups_helper is or can be.
bool is_group_helper(const std::vector<std::string>& words, const Imported& out);

// A text as a scalar of YAML, within quotation marks.
std::string yaml_text(std::string_view text);
std::string yaml_list(const std::vector<std::string>& texts);  // [ "a", "b" ]

}  // namespace bloomwall::proxy::foreign
