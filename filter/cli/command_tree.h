// The command line of either program: its commands, options and arguments as data, as --help shows them, from which
// completions (completion.h) and manual pages (manual.h) are written; and how one is parsed and run. Commands and
// options of an empty group are hidden, and left out.
// Every option takes one word and is given several times where it is a list, so that an option means the same before,
// between and behind the arguments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"

namespace CLI {
class App;
}

namespace bloomwall::filter {

struct OptionInfo {
  std::vector<std::string> names;  // "-q", "--quiet"; of an argument its name alone
  std::string value;               // what it takes: "FILE"; empty: it is a flag
  std::string what;
  bool required = false;
  bool repeated = false;  // an argument that takes several words, or an option that may be given several times
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

// Adds the hidden commands `completion SHELL` and `manual` to a program.
void add_self_description(CLI::App& app, int& status, const Streams& io);

// To be called once all commands are there, before a parse. The library would give an option of several values every
// word up to the next option, arguments of the command too, split a word in brackets ("[::1]") at its commas, and
// forget what was given to a command ("tls a.example") where the name of one of its own commands ("refused") follows.
void take_one_word_each(CLI::App& app);

// `arguments` (without the program's name) in the order in which the library's parse() takes them. All words behind the
// first "--" are arguments of the command, wherever it stands.
std::vector<std::string> words_for_library(const CLI::App& app, std::vector<std::string> arguments);

// Parses `arguments` (without the program's name) and runs the command they name; returns `status`, which the command
// sets. kExitError with a message on io.err where the line is wrong or io.out cannot be written.
int run_command_line(CLI::App& app, std::vector<std::string> arguments, const int& status, const Streams& io);

}  // namespace bloomwall::filter
