// Lists of other programs that are known and not read, so that an error can name them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace bloomwall::filter {

// What the lines of `sample` (whole lines) are, and what to do: "rules of Surge, Clash or Quantumult; ..."; empty where
// that is not known. By a first line, or by more than half of the lines that are neither blank nor comments.
std::string_view foreign_rules(std::string_view sample);

}  // namespace bloomwall::filter
