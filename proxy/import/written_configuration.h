// What was imported, as files of bloomwall: bloomwall.yaml and, beside it in lists/, the lists that the other
// configuration held itself. Nothing is written here: the caller decides where.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "proxy/import/group_compiler.h"
#include "proxy/import/rule_model.h"

namespace bloomwall::proxy::foreign {

// Path below the folder to content; "bloomwall.yaml" is one of them. `folder`: where they will lie (paths in the
// configuration are relative to it). What cannot be said in it is reported at the rules.
std::map<std::string, std::string> written(Imported& imported, const std::vector<CompiledGroup>& groups);

}  // namespace bloomwall::proxy::foreign
