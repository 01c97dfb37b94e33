// The text of a YAML file, for the readers of configuration and catalogue.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "conf/yaml_tree.h"

namespace bloomwall::conf {

// At most one octet more than parse_yaml() takes: enough to see that it is too large. Error: what the system says.
tl::expected<std::string, std::vector<ConfigError>> read_yaml_file(const std::filesystem::path& path);

}  // namespace bloomwall::conf
