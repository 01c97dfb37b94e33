// Who belongs to a source of squidGuard.conf or ufdbGuard.conf.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

#include "proxy/import/rule_model.h"
#include "proxy/import/squidguard_statements.h"

namespace bloomwall::proxy::foreign {

// Adds what a row of the source's block says: ip, user, their lists in files (relative to `home`), unix groups. What
// cannot be taken is reported at `report`.
void add_members(const Statement& row, const std::filesystem::path& home, std::size_t report, People& people,
                 Imported& out);

}  // namespace bloomwall::proxy::foreign
