// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/command_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <utility>

#include "filter/cli/completion.h"
#include "filter/cli/manual.h"

namespace bloomwall::filter {
namespace {

OptionInfo option_info(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  if (info.names.empty()) info.names.push_back(option.get_name(true));
  if (option.get_items_expected_max() > 0) info.value = option.get_type_name();
  info.what = option.get_description();
  info.required = option.get_required();
  info.repeated = option.get_items_expected_max() > 1;
  return info;
}

// Marks a word that the library would take for a list of values, for the end of a command ("++") or, behind "--", for
// an option, and a value that is empty ("--category="), for which it would take the next word. No argument of a process
// can hold it.
constexpr char kWhole = '\0';

void mark_as_whole(std::string& word) {
  const bool is_list = word.starts_with('[') && word.ends_with(']');
  const bool has_no_value = word.starts_with("--") && word.find('=') + 1 == word.size();
  if (is_list || has_no_value || word == "++") word += kWhole;
}

std::string take_mark(std::string& word) {
  if (word.starts_with(kWhole)) {
    word.erase(0, 1);
  } else if (word.ends_with(kWhole)) {
    word.pop_back();
  }
  return {};
}

// Whether the word behind this one is its value: behind "--config", "-o" and "-qo", but not "--config=F", "-oF", "-q".
bool wants_word(const CLI::App& command, const std::string& word) {
  const auto takes_value = [](const CLI::Option* option) {
    return option != nullptr && option->get_items_expected_max() > 0;
  };
  if (!word.starts_with('-')) return false;
  if (word.starts_with("--")) return takes_value(command.get_option_no_throw(word));
  const auto first = std::find_if(word.begin() + 1, word.end(), [&](char letter) {
    return takes_value(command.get_option_no_throw(std::string{'-', letter}));
  });
  return first != word.end() && first + 1 == word.end();
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&name](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// Where the "--" stands that is no option's value; the number of words: nowhere.
std::size_t end_of_options(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") return i;
    if (wants_word(*command, words[i])) {
      ++i;
    } else if (const CLI::App* const below = command_named(*command, words[i])) {
      command = below;
    }
  }
  return words.size();
}

// The misspelt option rather than the word after it.
std::string first_of(const std::vector<std::string>& words) {
  const auto option = std::ranges::find_if(words, [](const std::string& text) { return text.starts_with('-'); });
  return option != words.end() ? *option : words.front();
}

// Empty for a command without subcommands.
std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

// After a failed parse: names the word that no command knows, as "unknown argument: --jsno"; empty: all are known. The
// library would first ask for what is missing.
std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) return {};
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::string word = first_of(unknown);
  take_mark(word);
  const std::vector<std::string> names = names_of_commands(*command);
  if (word.starts_with('-') || names.empty()) return "unknown argument: " + word;
  return fmt::format("unknown command '{}'; there are {}", word, fmt::join(names, ", "));
}

int refuse(const CLI::App& app, std::string_view why, const Streams& io) {
  io.err << app.get_name() << ": " << printable(why) << '\n';
  io.err.flush();
  return kExitError;
}

}  // namespace

CommandInfo describe(const CLI::App& app) {
  CommandInfo info;
  info.name = app.get_name();
  info.what = app.get_description();
  // The library gives each command the footer of its parent to begin with.
  const CLI::App* const parent = app.get_parent();
  if (parent == nullptr || parent->get_footer() != app.get_footer()) info.footer = app.get_footer();
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const bool is_argument = option->get_snames().empty() && option->get_lnames().empty();
    (is_argument ? info.arguments : info.options).push_back(option_info(*option));
  }
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) info.commands.push_back(describe(*command));
  }
  return info;
}

bool takes_file(const OptionInfo& option) {
  constexpr std::array<std::string_view, 4> kFiles{"FILE", "DIR", "LIST", "PUBLIC"};
  return std::ranges::find(kFiles, option.value) != kFiles.end();
}

void add_self_description(CLI::App& app, int& status, const Streams& io) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* const complete = app.add_subcommand("completion", "what a shell reads to complete this program's commands");
  complete->group("");
  const auto set_shell = [shell](const std::string& name) { *shell = name; };
  complete->add_option_function<std::string>("SHELL", set_shell, "bash, zsh or fish")->required();
  complete->callback([&app, &status, &io, shell] {
    const auto script = completion(describe(app), *shell);
    status = script ? kExitDone : kExitError;
    if (script) {
      io.out << *script;
    } else {
      io.err << app.get_name() << ": " << printable(*shell) << ": none of bash, zsh, fish\n";
    }
  });
  CLI::App* const text = app.add_subcommand("manual", "commands and options for the manual page, as scdoc reads it");
  text->group("")->callback([&app, &status, &io] {
    status = kExitDone;
    io.out << manual(describe(app));
  });
}

void take_one_word_each(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    option->transform(CLI::Validator(take_mark, std::string{}));
    if (!option->nonpositional() || option->get_items_expected_max() == 1) continue;
    option->allow_extra_args(false);
    if (option->get_needs().empty() && option->get_excludes().empty() && !option->get_required()) {
      option->option_text(option->get_type_name());  // without the dots that promise more words
    }
  }
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (CLI::Option* const option : app.get_options()) {
      if (option != app.get_help_ptr()) command->excludes(option);
    }
    take_one_word_each(*command);
  }
}

// Behind "--" the library takes words only as long as arguments are missing, of several as long as there is none.
std::vector<std::string> words_for_library(const CLI::App& app, std::vector<std::string> arguments) {
  const std::size_t end = end_of_options(app, arguments);
  const auto behind = arguments.begin() + static_cast<std::ptrdiff_t>(end);
  std::for_each(arguments.begin(), behind, mark_as_whole);
  if (behind != arguments.end()) {
    std::for_each(behind + 1, arguments.end(), [](std::string& word) { word.insert(0, 1, kWhole); });
    arguments.erase(behind);
  }
  std::ranges::reverse(arguments);
  return arguments;
}

int run_command_line(CLI::App& app, std::vector<std::string> arguments, const int& status, const Streams& io) {
  try {
    app.parse(words_for_library(app, std::move(arguments)));
  } catch (const CLI::ParseError& error) {
    if (const std::string unknown = unknown_word(app); error.get_exit_code() != 0 && !unknown.empty()) {
      return refuse(app, unknown, io);
    }
    return app.exit(error, io.out, io.err) == 0 ? kExitDone : kExitError;
  } catch (const std::exception& error) {
    return refuse(app, error.what(), io);
  }
  io.out.flush();
  return io.out.good() ? status : refuse(app, "standard output cannot be written", io);
}

}  // namespace bloomwall::filter
