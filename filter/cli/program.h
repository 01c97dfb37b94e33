// bloomwall-filter: its command line, from arguments to the exit status.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "filter/cli/terminal.h"

namespace bloomwall::filter {

// `arguments` without the program's name. Never throws.
int run_program(std::vector<std::string> arguments, const Streams& io);

}  // namespace bloomwall::filter
