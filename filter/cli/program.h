// bloomwall-filter: its command line, from arguments to the exit status.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/terminal.h"

namespace CLI {
class App;
}

namespace bloomwall::filter {

// Hands the command line, nothing of it parsed yet, to `use`; a parse of it runs the command and sets `status`. Returns
// what `use` returns; kExitError with a message on io.err where SOURCE_DATE_EPOCH is no time.
int with_command_line(const Streams& io, const std::function<int(CLI::App& app, const int& status)>& use);

// `arguments` without the program's name. Never throws.
int run_program(std::vector<std::string> arguments, const Streams& io);

}  // namespace bloomwall::filter
