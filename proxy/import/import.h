// Configurations of other proxies as one of ours: `bloomwall import`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/import/rule_model.h"

namespace bloomwall::proxy::foreign {

struct ImportResult {
  std::vector<ReportLine> report;            // in the order of files and lines
  std::map<std::string, std::string> files;  // path below the folder to content; bloomwall.yaml is one of them
  bool deny_lost() const;
};

// squid.conf, squidGuard.conf, ufdbGuard.conf, told apart by what is in them; several are one configuration, in whose
// rules a request must pass each file in turn. Error: a file that cannot be read, as "file: why".
// Blocking; reads the files that they name, within limits (config_lines.h). The result loads as a configuration.
tl::expected<ImportResult, std::string> import_files(const std::vector<std::filesystem::path>& paths);

// The same of texts, for tests; a name stands for each.
ImportResult import_texts(const std::vector<std::pair<std::string, std::string>>& named_texts);

}  // namespace bloomwall::proxy::foreign
