// A command line as data: commands, options and arguments, as --help shows them. What completions (completion.h) and
// manual pages (manual.h) are written from. Commands and options of an empty group are hidden, and left out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "filter/cli/terminal.h"

namespace CLI {
class App;
}

namespace bloomwall::filter {

struct OptionInfo {
  std::vector<std::string> names;  // "-q", "--quiet"; of an argument its name alone
  std::string value;               // what it takes: "FILE"; empty: it is a flag
  std::string what;
  bool required = false;
  bool repeated = false;  // takes several values
};

struct CommandInfo {
  std::string name, what;
  std::string footer;                 // its own, not its parent's
  std::vector<OptionInfo> options;    // --help is among them
  std::vector<OptionInfo> arguments;  // by position
  std::vector<CommandInfo> commands;
};

CommandInfo describe(const CLI::App& app);

// Whether it takes the name of a file or a folder.
bool takes_file(const OptionInfo& option);

// After a parse that failed: what says which word of it no command knows, as "unknown argument: --jsno". Empty: every
// word is known. The library would first ask for what is missing besides.
std::string unknown_word(const CLI::App& app);

// Adds the hidden commands `completion SHELL` and `manual` to a program.
void add_self_description(CLI::App& app, int& status, const Streams& io);

}  // namespace bloomwall::filter
