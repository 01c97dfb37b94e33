// squidGuard.conf and ufdbGuard.conf: sources, times, categories and what passes for whom.
// Source: squidGuard 1.6's doc/configuration, the reference manual of ufdbGuard 1.35.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "proxy/import/rule_model.h"

namespace bloomwall::proxy::foreign {

// Whether a text is of this kind rather than a squid.conf.
bool looks_like_squidguard(const std::string& text);

// Adds what the file says as one stage of rules. Never fails: what cannot be read is reported.
void import_squidguard(const std::string& text, const std::filesystem::path& file, Imported& out);

}  // namespace bloomwall::proxy::foreign
