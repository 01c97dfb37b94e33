// Small steps over one line of text: no allocation, no locale.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace bloomwall::filter {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
constexpr bool is_alpha(char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }
constexpr bool is_hex(char c) { return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f'); }

constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return to_lower(x) == to_lower(y); });
}
constexpr bool starts_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// Takes the next word off `rest`; empty at the end.
constexpr std::string_view next_word(std::string_view& rest) {
  rest = trim(rest);
  std::size_t size = 0;
  while (size < rest.size() && !is_blank(rest[size])) ++size;
  const std::string_view word = rest.substr(0, size);
  rest.remove_prefix(size);
  return word;
}

// Takes everything up to `separator` off `rest`, and the separator with it; all of it where there is none.
constexpr std::string_view next_part(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

// Cuts off a comment: a '#' at the start or after white space. A '#' within a word belongs to the word.
constexpr std::string_view without_comment(std::string_view text) {
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    if (at == 0 || is_blank(text[at - 1])) return trim(text.substr(0, at));
  }
  return trim(text);
}

// The scheme of "scheme://rest", without "://"; empty where the text does not begin like that.
constexpr std::string_view scheme_of(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && (is_alpha(text[size]) || (size > 0 && (is_digit(text[size]) || text[size] == '+' ||
                                                                      text[size] == '-' || text[size] == '.')))) {
    ++size;
  }
  return size > 0 && text.substr(size).starts_with("://") ? text.substr(0, size) : std::string_view{};
}

}  // namespace bloomwall::filter
