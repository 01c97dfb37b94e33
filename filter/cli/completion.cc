// The three scripts work alike. The commands on the line so far are a path, such as "/token/add"; each path has its own
// options, and what follows an option that takes a value is that value.
// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace bloomwall::filter {
namespace {

struct ArgumentPlace {
  std::string path;  // "" for the program itself
  const CommandInfo* command;
};

void collect(const CommandInfo& command, const std::string& path, std::vector<ArgumentPlace>& places) {
  places.push_back({path, &command});
  for (const CommandInfo& below : command.commands) collect(below, path + "/" + below.name, places);
}

std::vector<ArgumentPlace> places_of(const CommandInfo& program) {
  std::vector<ArgumentPlace> places;
  collect(program, "", places);
  return places;
}

std::string function_name(const CommandInfo& program) {
  std::string name = "_" + program.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

// The paths of all commands, as the pattern of a `case`.
std::string known_paths(const std::vector<ArgumentPlace>& places, std::string_view between) {
  std::vector<std::string> paths;
  for (const ArgumentPlace& place : places) {
    if (!place.path.empty()) paths.push_back(place.path);
  }
  return fmt::format("{}", fmt::join(paths, between));
}

// In single quotes, for bash and zsh.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool takes_files(const CommandInfo& command) { return std::ranges::any_of(command.arguments, takes_file); }

std::string bash_words(const CommandInfo& command) {
  std::vector<std::string> words;
  for (const CommandInfo& below : command.commands) words.push_back(below.name);
  for (const OptionInfo& option : command.options) words.insert(words.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(words, " "));
}

// "path:--option" of all options that take a value, with a file or without.
std::string bash_values(const std::vector<ArgumentPlace>& places, bool files) {
  std::vector<std::string> patterns;
  for (const ArgumentPlace& place : places) {
    for (const OptionInfo& option : place.command->options) {
      if (option.value.empty() || takes_file(option) != files) continue;
      for (const std::string& name : option.names) patterns.push_back(shell_quoted(place.path + ":" + name));
    }
  }
  return patterns.empty() ? "''" : fmt::format("{}", fmt::join(patterns, " | "));
}

std::string bash(const CommandInfo& program) {
  const auto places = places_of(program);
  std::string out = fmt::format(R"(# bash completion of {0}, written by `{0} completion bash`.
{1}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} path='' words='' files='' i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path/${{COMP_WORDS[i]}}" in
      {2}) path+=/${{COMP_WORDS[i]}} ;;
    esac
  done
  COMPREPLY=()
  case "$path:$previous" in
    {3}) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    {4}) return ;;
  esac
  case "$path" in
)",
                                program.name, function_name(program), known_paths(places, " | "),
                                bash_values(places, true), bash_values(places, false));
  for (const ArgumentPlace& place : places) {
    out += fmt::format("    {}) words='{}'{} ;;\n", shell_quoted(place.path), bash_words(*place.command),
                       takes_files(*place.command) ? " files=1" : "");
  }
  out += fmt::format(R"(  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  if [ -n "$files" ] && [ "${{word:0:1}}" != - ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -F {} {}
)",
                     function_name(program), program.name);
  return out;
}

// A description inside [] of _arguments, or behind the colon of _describe.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionInfo& option, const std::string& name) {
  const std::string repeats = option.repeated ? "*" : "";
  std::string spec = fmt::format("{}{}[{}]", repeats, name, zsh_text(option.what));
  if (!option.value.empty()) spec += fmt::format(":{}:{}", zsh_text(option.value), takes_file(option) ? "_files" : " ");
  return shell_quoted(spec);
}

std::string zsh_case(const ArgumentPlace& place) {
  const CommandInfo& command = *place.command;
  std::string out = fmt::format("    ({})\n", shell_quoted(place.path));
  if (!command.commands.empty()) {
    out += "      local -a commands=(\n";
    for (const CommandInfo& below : command.commands) {
      out += fmt::format("        {}\n", shell_quoted(zsh_text(below.name) + ":" + zsh_text(below.what)));
    }
    out += "      )\n      [[ $PREFIX == -* ]] || _describe -t commands command commands\n";
  }
  out += "      _arguments";
  for (const OptionInfo& option : command.options) {
    for (const std::string& name : option.names) out += " \\\n        " + zsh_option(option, name);
  }
  if (takes_files(command)) out += " \\\n        '*:file:_files'";
  return out + "\n      ;;\n";
}

std::string zsh(const CommandInfo& program) {
  const auto places = places_of(program);
  std::string out = fmt::format(R"(#compdef {0}
# zsh completion of {0}, written by `{0} completion zsh`.
{1}() {{
  local place='' i begin=1
  for ((i = 2; i < CURRENT; ++i)); do
    case "$place/$words[i]" in
      ({2}) place+="/$words[i]" begin=$i ;;
    esac
  done
  words=("${{(@)words[begin,-1]}}")
  ((CURRENT -= begin - 1))
  case "$place" in
)",
                                program.name, function_name(program), known_paths(places, "|"));
  for (const ArgumentPlace& place : places) out += zsh_case(place);
  return out + fmt::format("  esac\n}}\n{} \"$@\"\n", function_name(program));
}

// In single quotes, for fish.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_lines(const CommandInfo& program, const ArgumentPlace& place) {
  const CommandInfo& command = *place.command;
  const std::string begin =
      fmt::format("complete -c {} -n '_{}_at \"{}\"'", program.name, function_name(program), place.path);
  std::string out;
  for (const CommandInfo& below : command.commands) {
    out += fmt::format("{} -a {} -d {}\n", begin, below.name, fish_quoted(below.what));
  }
  for (const OptionInfo& option : command.options) {
    out += begin;
    for (const std::string& name : option.names) {
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!option.value.empty()) out += takes_file(option) ? " -r -F" : " -x";
    out += " -d " + fish_quoted(option.what) + "\n";
  }
  if (takes_files(command)) out += begin + " -F\n";
  return out;
}

std::string fish(const CommandInfo& program) {
  const auto places = places_of(program);
  std::string out = fmt::format(R"(# fish completion of {0}, written by `{0} completion fish`.
function _{1}_at
  set -l place ''
  for word in (commandline -opc)[2..]
    switch "$place/$word"
      case {2}
        set place "$place/$word"
    end
  end
  test "$place" = "$argv[1]"
end
complete -c {0} -f
)",
                                program.name, function_name(program), known_paths(places, " "));
  for (const ArgumentPlace& place : places) out += fish_lines(program, place);
  return out;
}

}  // namespace

std::optional<std::string> completion(const CommandInfo& program, std::string_view shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  if (shell == "fish") return fish(program);
  return std::nullopt;
}

}  // namespace bloomwall::filter
