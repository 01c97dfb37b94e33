// Commands and options of a program as a part of its manual page, in the language of scdoc(5): a section COMMANDS.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "filter/cli/command_tree.h"

namespace bloomwall::filter {

std::string manual(const CommandInfo& program);

}  // namespace bloomwall::filter
