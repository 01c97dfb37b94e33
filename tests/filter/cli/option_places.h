// Puts every option of every command of a program before, between and behind the command's arguments, and compares what
// the library reads. Commands and options come from the program itself, so that new ones are tried as well; an option
// whose value is checked while the line is parsed needs a word in kWords.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "filter/cli/command_tree.h"

namespace bloomwall::test {

class OptionPlaces {
 public:
  explicit OptionPlaces(CLI::App& program) : program_(program) { silence(program); }

  // Returns how many options it has tried.
  std::size_t check() {
    check(program_, {});
    return tried_;
  }

 private:
  using Words = std::vector<std::string>;
  using Meaning = std::map<std::string, Words>;  // of each option and argument that is given: its words

  // A parse runs no command.
  static void silence(CLI::App& app) {
    app.callback({});
    app.final_callback({});
    for (CLI::App* const command : commands_of(app)) silence(*command);
  }
  static std::vector<CLI::App*> commands_of(CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
  }
  static bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }
  static bool is_list(const CLI::Option& option) {
    return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll || option.get_items_expected_max() > 1;
  }
  // Last name: the long one.
  static std::string name_of(const CLI::Option& option) {
    return option.get_lnames().empty() ? "-" + option.get_snames().front() : "--" + option.get_lnames().front();
  }
  static std::string word_for(const CLI::Option& option) {
    static const std::map<std::string, std::string> kWords{{"--file-id", std::string(32, 'a')},
                                                           {"--format", "urls"},
                                                           {"--kinds", "U=1"},
                                                           {"--white", "allow"},
                                                           {"--fpr-of", "worst"}};
    static const std::map<std::string, std::string> kWordsOfTypes{
        {"N", "2"},     {"SECONDS", "2"}, {"BYTES", "2MB"}, {"PERCENT", "2%"}, {"RATE", "0.5"}, {"OCTAL", "640"},
        {"GROUP", "0"}, {"I/N", "1/2"},   {"TIME", "2d"},   {"NUMBER", "2"},   {"UINT", "2"},   {"INT", "2"}};
    if (const auto word = kWords.find(name_of(option)); word != kWords.end()) return word->second;
    const std::string type = option.get_type_name().substr(0, option.get_type_name().find(':'));
    const auto word = kWordsOfTypes.find(type);
    return word != kWordsOfTypes.end() ? word->second : "value";
  }
  static Words given(const CLI::Option& option) {
    return is_flag(option) ? Words{name_of(option)} : Words{name_of(option), word_for(option)};
  }
  static void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

  void check(CLI::App& app, const Words& path) {
    for (const CLI::Option* const option : app.get_options()) {
      const bool is_question = option == app.get_help_ptr() || option->check_lname("version");
      if (option->nonpositional() && !is_question) check(app, path, *option);
    }
    check_end_of_options(app, path);
    for (CLI::App* const command : commands_of(app)) {
      Words below = path;
      below.push_back(command->get_name());
      check(*command, below);
      if (!arguments_of(app).empty()) check_own_arguments(app, path, *command);
    }
  }

  // "--" before, between and behind the arguments, which then may look like options.
  void check_end_of_options(CLI::App& app, const Words& path) {
    const Words arguments = arguments_of(app);
    if (arguments.empty()) return;
    const CLI::Option& help = *app.get_help_ptr();
    const Words begin = beginning(app, path, help);
    Meaning expected = meaning_of_arguments(app);
    for (const CLI::Option* const needed : needed_by(app, help)) expected[name_of(*needed)] = words_of(*needed);
    for (std::size_t place = 0; place <= arguments.size(); ++place) {
      EXPECT_EQ(parse(app, begin, arguments, {{place, {"--"}}}), expected)
          << fmt::format("{} -- at place {}", fmt::join(path, " "), place);
    }
    const std::vector<CLI::Option*> options = app.get_options();
    const auto list = std::ranges::find_if(
        options, [](const CLI::Option* option) { return !option->nonpositional() && is_list(*option); });
    if (list == options.end()) return;
    for (const char* const word : {"--help", "-x", "--", "++", "[a,b]", "--a=", ""}) {
      Words more = arguments;
      more.push_back(word);
      Meaning with_it = expected;
      with_it[(*list)->get_name()].push_back(word);
      EXPECT_EQ(parse(app, begin, more, {{arguments.size(), {"--"}}}), with_it)
          << fmt::format("{} -- '{}'", fmt::join(path, " "), word);
    }
    Words more = arguments;
    more.push_back("++");
    expected[(*list)->get_name()].push_back("++");
    EXPECT_EQ(parse(app, begin, more, {}), expected) << fmt::format("{} ++", fmt::join(path, " "));
  }

  // What is given to a command is not forgotten where one of its own commands follows.
  void check_own_arguments(CLI::App& app, const Words& path, CLI::App& command) {
    Words line = path;
    append(line, arguments_of(app));
    line.push_back(command.get_name());
    append(line, arguments_of(command));
    EXPECT_THROW(program_.parse(filter::words_for_library(program_, line)), CLI::ParseError)
        << fmt::format("{}", fmt::join(line, " "));
  }

  static Words words_of(const CLI::Option& option) { return is_flag(option) ? Words{"true"} : Words{word_for(option)}; }
  // The other options that this one or the command asks for.
  static std::vector<const CLI::Option*> needed_by(CLI::App& app, const CLI::Option& option) {
    const auto needs = option.get_needs();
    std::vector<const CLI::Option*> out;
    for (CLI::Option* const other : app.get_options()) {
      const bool is_needed = other->get_required() || needs.contains(other);
      if (other->nonpositional() && other != &option && is_needed) out.push_back(other);
    }
    return out;
  }
  static Words beginning(CLI::App& app, const Words& path, const CLI::Option& option) {
    Words words = path;
    for (const CLI::Option* const other : needed_by(app, option)) append(words, given(*other));
    return words;
  }
  // Words are numbered, and a list gets three.
  static Meaning meaning_of_arguments(CLI::App& app) {
    Meaning meaning;
    int number = 0;
    for (const CLI::Option* const option : app.get_options()) {
      if (option->nonpositional()) continue;
      const std::string type = option->get_type_name();
      const bool is_number = type.starts_with("INT") || type.starts_with("UINT");
      if (const std::size_t words = type.find('{'); words != std::string::npos) {  // one of these
        meaning[option->get_name()] = {type.substr(words + 1, type.find_first_of(",}") - words - 1)};
        continue;
      }
      for (int i = 0; i < (is_list(*option) ? 3 : 1); ++i) {
        meaning[option->get_name()].push_back(fmt::format("{}{}", is_number ? "" : "word", number++));
      }
    }
    return meaning;
  }
  static Words arguments_of(CLI::App& app) {
    Words words;
    for (const auto& [name, some] : meaning_of_arguments(app)) append(words, some);
    std::ranges::sort(words);
    return words;
  }

  void check(CLI::App& app, const Words& path, const CLI::Option& option) {
    ++tried_;
    const Words begin = beginning(app, path, option);
    const Words arguments = arguments_of(app);
    Meaning expected = meaning_of_arguments(app);
    for (const CLI::Option* const needed : needed_by(app, option)) expected[name_of(*needed)] = words_of(*needed);
    expected[name_of(option)] = words_of(option);
    for (std::size_t place = 0; place <= arguments.size(); ++place) {
      EXPECT_EQ(parse(app, begin, arguments, {{place, given(option)}}), expected)
          << fmt::format("{} {} at place {}", fmt::join(path, " "), name_of(option), place);
    }
    if (is_flag(option)) return;
    if (is_list(option)) {
      EXPECT_NE(option.get_description().find("may be given several times"), std::string::npos)
          << fmt::format("{} {}: its help must say so", fmt::join(path, " "), name_of(option));
      expected[name_of(option)].push_back(word_for(option));
    } else {
      expected = {{"refused", {}}};
    }
    const Meaning twice = parse(app, begin, arguments, {{0, given(option)}, {arguments.size(), given(option)}});
    EXPECT_EQ(twice, expected) << fmt::format("{} {} given twice", fmt::join(path, " "), name_of(option));
  }

  Meaning parse(CLI::App& app, Words words, const Words& arguments,
                const std::vector<std::pair<std::size_t, Words>>& inserted) {
    for (std::size_t place = 0; place <= arguments.size(); ++place) {
      for (const auto& [where, what] : inserted) {
        if (where == place) append(words, what);
      }
      if (place < arguments.size()) words.push_back(arguments[place]);
    }
    Meaning meaning;
    try {
      program_.parse(filter::words_for_library(program_, words));
    } catch (const CLI::ArgumentMismatch& error) {
      return {{"refused", {}}};
    } catch (const CLI::ParseError& error) {
      ADD_FAILURE() << fmt::format("{}: {}", fmt::join(words, " "), error.what());
      return {};
    }
    for (const CLI::Option* const option : app.get_options()) {
      if (option->count() == 0) continue;
      meaning[option->nonpositional() ? name_of(*option) : option->get_name()] = option->results();
    }
    return meaning;
  }

  CLI::App& program_;
  std::size_t tried_ = 0;
};

}  // namespace bloomwall::test
