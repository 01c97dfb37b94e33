// squid.conf: directives in their order, ACLs, http_access. Source: Squid 5's squid.conf.documented.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "proxy/import/rule_model.h"

namespace bloomwall::proxy::foreign {

// Adds what the file says as one stage of rules. Never fails: what cannot be read is reported.
void import_squid(const std::string& text, const std::filesystem::path& file, Imported& out);

}  // namespace bloomwall::proxy::foreign
