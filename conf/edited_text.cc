// SPDX-License-Identifier: Apache-2.0
#include "conf/edited_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace bloomwall::conf {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

using Refused = tl::unexpected<std::string>;

Refused refused(std::size_t line, std::string_view what) { return Refused(fmt::format("line {}: {}", line, what)); }

bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || text.find('\0') != std::string_view::npos;
}

// "---" and "--- a", not "----".
bool is_mark(std::string_view line, std::string_view mark) {
  if (!line.starts_with(mark)) return false;
  line.remove_prefix(mark.size());
  return line.empty() || line.front() == ' ' || line.front() == '\t' || line.front() == '\r';
}

struct PlainText {
  std::string text;  // with LF alone
  bool has_crlf = false;
};

tl::expected<PlainText, std::string> plain_text(std::string_view text) {
  PlainText plain;
  bool has_content = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const bool is_crlf = end != std::string_view::npos && line.ends_with('\r');
    if (is_crlf) line.remove_suffix(1);
    if (number == 1) plain.has_crlf = is_crlf;
    if (end != std::string_view::npos && is_crlf != plain.has_crlf) {
      return refused(number,
                     "it ends in another way (LF, CR LF) than the first line: save the file with one kind of "
                     "line ends");
    }
    if (line.find('\r') != std::string_view::npos) {
      return refused(number, "a carriage return inside of the line: save the file with line ends of LF or CR LF");
    }
    if (is_mark(line, "...") || (is_mark(line, "---") && has_content)) {
      return refused(number, "the end of a document of YAML, behind which nothing would count: take this line out");
    }
    if (line.starts_with('%')) return refused(number, "a directive of YAML: take this line out");
    const std::size_t begin = line.find_first_not_of(" \t");
    has_content = has_content || (begin != std::string_view::npos && line[begin] != '#');
    plain.text.append(line);
    if (end != std::string_view::npos) plain.text.push_back('\n');
  }
  return plain;
}

std::string with_crlf(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out.push_back('\r');
    out.push_back(c);
  }
  return out;
}

}  // namespace

tl::expected<std::string, std::string> edit_text(std::string_view text, const TextEdit& edit) {
  if (is_utf16(text)) return refused(1, "the file is no UTF-8: save it as UTF-8");
  const bool has_mark = text.starts_with(kByteOrderMark);
  if (has_mark) text.remove_prefix(kByteOrderMark.size());
  const auto plain = plain_text(text);
  if (!plain) return Refused(plain.error());
  auto made = edit(plain->text);
  if (!made) return made;
  return std::string(has_mark ? kByteOrderMark : "") + (plain->has_crlf ? with_crlf(*made) : *made);
}

}  // namespace bloomwall::conf
