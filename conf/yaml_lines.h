// YAML as people write it, for files that programs and people edit in turn: a value on one line, and a text as lines.
// Pure functions, linear in the text. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conf/yaml_tree.h"

namespace bloomwall::conf {

// Without quotes where nobody could read it as anything but this text (no number, no `off`), else in double quotes.
std::string yaml_scalar(std::string_view text);
std::string yaml_quoted(std::string_view text);  // in double quotes
// On one line: `{lessons: block, otherwise: "off"}`, `[192.168.1.0/24, "fd00::/8"]`, `null`.
std::string yaml_flow(const YamlNode& node);

std::vector<std::string> lines_of(std::string_view text);          // without their ends
std::string text_of_lines(const std::vector<std::string>& lines);  // each with an end
bool says_the_same(const YamlNode& one, const YamlNode& other);    // whatever the places and quotes; entries in order
std::string indentation_of(std::string_view line);                 // the blanks that it begins with

}  // namespace bloomwall::conf
