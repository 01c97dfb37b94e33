// What of a configuration a reload of the running proxy would not put in force, for `check`. Blocking, for ten seconds
// at most.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "conf/config.h"

namespace bloomwall::proxy {

// One line; nothing where the proxy that answers at admin.control_socket serves another configuration than `file`, or
// nobody answers. `file` empty: the default one.
std::optional<std::string> restart_notice(const std::filesystem::path& file, const conf::Config& settings);

}  // namespace bloomwall::proxy
