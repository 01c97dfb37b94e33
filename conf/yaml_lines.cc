// SPDX-License-Identifier: Apache-2.0
#include "conf/yaml_lines.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"

namespace bloomwall::conf {
namespace {

constexpr std::string_view kNull = "null";

// Readers of YAML 1.1 and 1.2 take these for something else than text, in whatever case.
bool is_word_of_yaml(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords{"true", "false", kNull, "yes", "no", "on", "off", "y", "n"};
  return std::ranges::any_of(kWords, [text](std::string_view word) {
    return std::ranges::equal(word, text, [](char a, char b) { return a == to_lower(b); });
  });
}

// An address of IPv4 and a network are none; "12", "1e5", "0x10" and "2026-01-01" are, or may be.
bool may_be_a_number(std::string_view text) {
  constexpr std::string_view kOfNumbers = "0123456789abcdefABCDEFxXoO._+-:";
  const bool is_address = std::ranges::count(text, '.') == 3 && text.find(':') == std::string_view::npos;
  const bool is_times = text.find(':') != std::string_view::npos && text.find('-') != std::string_view::npos;
  return is_digit(text.front()) && !is_address && !is_times &&
         text.find_first_not_of(kOfNumbers) == std::string_view::npos;
}

bool is_plain(std::string_view text) {
  const bool begins_well = !text.empty() && (is_alpha(text.front()) || is_digit(text.front()) ||
                                             static_cast<unsigned char>(text.front()) >= 0x80);
  if (!begins_well || text.back() == ' ' || is_word_of_yaml(text) || may_be_a_number(text)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_time = c == ':' && is_digit(text[i - 1]) && i + 1 < text.size() && is_digit(text[i + 1]);
    const bool is_harmless = is_alpha(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80 ||
                             std::string_view(" ._'-/").find(c) != std::string_view::npos;
    if (!is_harmless && !is_time) return false;
  }
  return true;
}

}  // namespace

std::string yaml_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + '"';
}

std::string yaml_scalar(std::string_view text) { return is_plain(text) ? std::string(text) : yaml_quoted(text); }

namespace {

// A word or number as a person has written it, without quotes: it may have to be none of a text.
bool is_as_written(const YamlNode& node) {
  const bool is_of_a_file =
      node.place.line > 0 && !node.quoted && !node.text.empty() && !equals_ignoring_case(node.text, kNull);
  return is_of_a_file && (is_word_of_yaml(node.text) || may_be_a_number(node.text));
}

}  // namespace

std::string yaml_flow(const YamlNode& node) {
  std::string out;
  switch (node.kind) {
    case YamlNode::Kind::null:
      return std::string(kNull);
    case YamlNode::Kind::scalar:
      return is_as_written(node) ? node.text : yaml_scalar(node.text);
    case YamlNode::Kind::sequence:
      for (const YamlNode& item : node.items) out += (out.empty() ? "" : ", ") + yaml_flow(item);
      return "[" + out + "]";
    case YamlNode::Kind::map:
      for (const YamlEntry& entry : node.entries) {
        out += (out.empty() ? "" : ", ") + yaml_scalar(entry.key) + ": " + yaml_flow(entry.value);
      }
      return "{" + out + "}";
  }
  return out;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string text_of_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text.append(line).push_back('\n');
  return text;
}

bool says_the_same(const YamlNode& one, const YamlNode& other) {
  return one.kind == other.kind && one.text == other.text &&
         std::ranges::equal(one.items, other.items, says_the_same) &&
         std::ranges::equal(one.entries, other.entries, [](const YamlEntry& a, const YamlEntry& b) {
           return a.key == b.key && says_the_same(a.value, b.value);
         });
}

std::string indentation_of(std::string_view line) {
  return std::string(line.substr(0, std::min(line.find_first_not_of(' '), line.size())));
}

}  // namespace bloomwall::conf
