// SPDX-License-Identifier: Apache-2.0
#include "proxy/import/squidguard_statements.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "proxy/import/config_lines.h"

namespace bloomwall::proxy::foreign {

std::vector<Statement> statements_of(const std::string& text) {
  std::vector<Statement> out;
  LineWalk walk(text);
  while (walk.next()) {
    std::string spaced;
    char quote = 0;
    for (const char c : without_comment(walk.line())) {
      if (quote != 0 ? c == quote : (c == '"' || c == '\'')) quote = quote != 0 ? char{0} : c;
      const bool brace = quote == 0 && (c == '{' || c == '}');
      if (brace) spaced += ' ';
      spaced += c;
      if (brace) spaced += ' ';
    }
    Statement statement{walk.number(), {}};
    const auto end = [&] {
      if (!statement.words.empty()) out.push_back(std::exchange(statement, {walk.number(), {}}));
    };
    for (std::string& word : words_of(spaced)) {
      if (word == "{") {
        statement.opens = true;
        out.push_back(std::exchange(statement, {walk.number(), {}}));
      } else if (word == "}") {
        end();
        out.push_back({walk.number(), {}, false, true});
      } else if (!(word == "," || word.empty())) {
        statement.words.push_back(std::move(word));
      }
    }
    end();
  }
  return out;
}

std::optional<std::string> days_of(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, const char*>, 7> kNames{{{"sunday", "sun"},
                                                                            {"monday", "mon"},
                                                                            {"tuesday", "tue"},
                                                                            {"wednesday", "wed"},
                                                                            {"thursday", "thu"},
                                                                            {"friday", "fri"},
                                                                            {"saturday", "sat"}}};
  constexpr std::string_view kLetters = "smtwhfa";
  if (word == "*") return "";
  for (const auto& [name, day] : kNames) {
    if (equals_ignoring_case(word, name) || equals_ignoring_case(word, std::string(name) + "s") ||
        equals_ignoring_case(word, day))
      return day;
  }
  std::string days;
  for (const char c : word) {
    const std::size_t at = kLetters.find(to_lower(c));
    if (at == std::string_view::npos) return std::nullopt;
    days += (days.empty() ? "" : ",") + std::string(kNames[at].second);
  }
  return days;
}

std::vector<std::string> hours_of(const std::vector<std::string>& words, std::size_t from) {
  std::vector<std::string> spans;
  bool joins = false;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (!is_digit(words[i].front()) && words[i].front() != '-') continue;
    joins = joins || words[i].front() == '-';
    if (joins && !spans.empty()) {
      spans.back() += words[i];
    } else {
      spans.push_back(words[i]);
    }
    joins = words[i].back() == '-';
  }
  return spans;
}

}  // namespace bloomwall::proxy::foreign
