// The statements of squidGuard.conf and ufdbGuard.conf, and the times in them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy::foreign {

struct Statement {
  std::uint64_t line = 0;
  std::vector<std::string> words;
  bool opens = false, closes = false;  // a block begins behind the words; a block ends (no words)
};

// Statements end with their line; { and } stand by themselves, wherever they are.
std::vector<Statement> statements_of(const std::string& text);

// "mtwhf", "mondays", "*" as days of schedules[].times ("" for every day); nothing for what is none.
std::optional<std::string> days_of(std::string_view word);
// The spans among words[from...]: "08:00-12:30 13:30 - 15:00" are two; blanks around the hyphen do not count.
std::vector<std::string> hours_of(const std::vector<std::string>& words, std::size_t from);

}  // namespace bloomwall::proxy::foreign
