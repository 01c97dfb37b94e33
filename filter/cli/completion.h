// Scripts that complete a program's commands and options in a shell. They hold the whole command line as data: nothing
// is run while somebody types. Where an option or an argument takes a file, files are offered; where it takes anything
// else, nothing is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "filter/cli/command_tree.h"

namespace bloomwall::filter {

// `shell`: bash, zsh or fish; nothing for others.
std::optional<std::string> completion(const CommandInfo& program, std::string_view shell);

}  // namespace bloomwall::filter
