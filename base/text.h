// Characters, words, comments and lines of text files: lists, allow lists, deltas. All readers of such files use this
// one module, so that a line has the same meaning everywhere. No allocation, no locale.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace bloomwall {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
constexpr bool is_alpha(char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }
// In place, without regard to any but ASCII letters.
inline void make_lower(std::string& text) {
  for (char& c : text) c = to_lower(c);
}
constexpr bool is_hex(char c) { return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f'); }

constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// As URLs are trimmed: every octet up to 0x20 counts as a blank.
constexpr std::string_view trim_controls(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) <= 0x20; };
  while (!text.empty() && is_control(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_control(text.back())) text.remove_suffix(1);
  return text;
}

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return to_lower(x) == to_lower(y); });
}
constexpr bool starts_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// Whether a word is in a table; ignores case.
template <typename Words>
constexpr bool is_one_of(std::string_view word, const Words& words) {
  return std::any_of(words.begin(), words.end(),
                     [word](std::string_view known) { return equals_ignoring_case(word, known); });
}

// Takes the next word off `rest` and leaves what follows it, trimmed; empty at the end.
constexpr std::string_view next_word(std::string_view& rest) {
  rest = trim(rest);
  std::size_t size = 0;
  while (size < rest.size() && !is_blank(rest[size])) ++size;
  const std::string_view word = rest.substr(0, size);
  rest = trim(rest.substr(size));
  return word;
}

// Takes everything up to `separator` off `rest`, and the separator with it; all of it where there is none.
constexpr std::string_view next_part(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

// Marks that begin a comment at the start of a line or after white space; within a word they belong to the word. '/'
// stands for "//".
inline constexpr std::string_view kHashMark = "#";
inline constexpr std::string_view kListMarks = "#;!/";  // of lists of hosts and URLs, which come from many hands

constexpr bool is_comment(std::string_view text, std::string_view marks = kHashMark) {
  if (text.empty() || marks.find(text.front()) == std::string_view::npos) return false;
  return text.front() != '/' || text.starts_with("//");
}

// `text` up to its comment, trimmed.
constexpr std::string_view without_comment(std::string_view text, std::string_view marks = kHashMark) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((at == 0 || is_blank(text[at - 1])) && is_comment(text.substr(at), marks)) return trim(text.substr(0, at));
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

// Editors write it before UTF-8 text; it stands in the middle where such files were concatenated.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// A longer line is cut here, counted as unusable and skipped: no URL that a proxy lets pass is that long.
inline constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10;

// Walks the lines of a text without copying. A line's LF, a CR before it and a byte order mark at its start are not
// part of it.
class LineWalk {
 public:
  explicit LineWalk(std::string_view text, std::uint64_t first_line = 1) : rest_(text), number_(first_line - 1) {}
  bool next() {  // false at the end
    if (rest_.empty()) return false;
    const void* const end = std::memchr(rest_.data(), '\n', rest_.size());
    const std::size_t size =
        end == nullptr ? rest_.size() : static_cast<std::size_t>(static_cast<const char*>(end) - rest_.data());
    line_ = rest_.substr(0, size);
    rest_.remove_prefix(std::min(size + 1, rest_.size()));
    if (line_.starts_with(kByteOrderMark)) line_.remove_prefix(kByteOrderMark.size());
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++number_;
    return true;
  }
  std::string_view line() const { return line_; }
  std::uint64_t number() const { return number_; }
  bool too_long() const { return line_.size() > kMaxLineBytes; }

 private:
  std::string_view rest_;
  std::string_view line_;
  std::uint64_t number_;
};

}  // namespace bloomwall
