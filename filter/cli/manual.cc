// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace bloomwall::filter {
namespace {

// As it stands: nothing in it is a mark of scdoc.
std::string plain(std::string_view text) {
  constexpr std::string_view kMarks = "\\*_";
  std::string out;
  for (const char c : text) {
    if (kMarks.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string bold(std::string_view text) { return "*" + plain(text) + "*"; }
std::string slanted(std::string_view text) { return "_" + plain(text) + "_"; }

std::string sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() += 'A' - 'a';
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

bool is_help(const OptionInfo& option) { return std::ranges::find(option.names, "--help") != option.names.end(); }

std::string synopsis(const CommandInfo& command, const std::string& name) {
  std::string out = bold(name);
  for (const OptionInfo& option : command.options) {
    if (option.required) out += " " + bold(option.names.back()) + " " + slanted(option.value);
  }
  if (command.options.size() > 1) out += " [" + slanted("OPTION") + "...]";
  for (const OptionInfo& argument : command.arguments) {
    const std::string text = slanted(argument.names.front()) + (argument.repeated ? "..." : "");
    out += argument.required ? " " + text : " [" + text + "]";
  }
  return out;
}

std::string item(const OptionInfo& option, bool is_argument) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ") + (is_argument ? slanted(name) : bold(name));
  }
  if (!is_argument && !option.value.empty()) names += " " + slanted(option.value);
  return fmt::format("{}\n\t{}\n\n", names, plain(sentence(option.what)));
}

// Lines that are set in stand as they are; the others are one paragraph.
std::string paragraphs(std::string_view footer) {
  std::string out, paragraph, literal;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += plain(paragraph) + "\n\n";
    paragraph.clear();
  };
  const auto end_literal = [&] {
    if (!literal.empty()) out += "```\n" + literal + "```\n\n";
    literal.clear();
  };
  for (std::size_t at = 0; at < footer.size();) {
    const std::size_t end = std::min(footer.find('\n', at), footer.size());
    const std::string_view line = footer.substr(at, end - at);
    if (line.starts_with("  ")) {
      end_paragraph();
      literal += fmt::format("{}\n", line.substr(2));
    } else {
      end_literal();
      paragraph += fmt::format("{}{}", paragraph.empty() ? "" : " ", line);
    }
    at = end + 1;
  }
  end_paragraph();
  end_literal();
  return out;
}

void write(const CommandInfo& command, const std::string& name, std::string& out) {
  if (!command.commands.empty() && command.options.size() <= 1) {
    for (const CommandInfo& below : command.commands) write(below, name + " " + below.name, out);
    return;
  }
  out += fmt::format("## {}\n\n{}\n\n{}\n\n", plain(name), synopsis(command, name), plain(sentence(command.what)));
  for (const OptionInfo& argument : command.arguments) out += item(argument, true);
  for (const OptionInfo& option : command.options) {
    if (!is_help(option)) out += item(option, false);
  }
  out += paragraphs(command.footer);
  for (const CommandInfo& below : command.commands) write(below, name + " " + below.name, out);
}

}  // namespace

std::string manual(const CommandInfo& program) {
  std::string out = "# COMMANDS\n\n";
  for (const CommandInfo& command : program.commands) write(command, command.name, out);
  return out +
         "# OPTIONS\n\n*-h*, *--help*\n\tWhat a command does, its options and its exit status; behind any command.\n\n"
         "*--version*\n\tThe program's version.\n";
}

}  // namespace bloomwall::filter
