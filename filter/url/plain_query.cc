// SPDX-License-Identifier: Apache-2.0
#include "filter/url/plain_query.h"

#include <algorithm>

namespace bloomwall::filter {
namespace {

constexpr std::string_view kEscapedBlank = "%20", kEscapedNul = "%00";

// How long the blank at the start of the text is; 0: there is none.
std::size_t blank_at_start(std::string_view text) {
  return text.starts_with('+') ? 1 : text.starts_with(kEscapedBlank) ? kEscapedBlank.size() : 0;
}

void append_value(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t blank = blank_at_start(text);
    out += blank != 0 ? '+' : text.front();
    text.remove_prefix(std::max<std::size_t>(blank, 1));
  }
}

void append_name(std::string_view text, std::string& out) {
  text = text.substr(0, text.find(kEscapedNul));
  while (!text.empty()) {
    const std::size_t blank = blank_at_start(text);
    const char octet = text.front();
    out += blank != 0 || octet == '.' || octet == '[' ? '_' : octet;
    text.remove_prefix(std::max<std::size_t>(blank, 1));
  }
}

void append_parameter(std::string_view text, std::string& out) {
  while (const std::size_t blank = blank_at_start(text)) text.remove_prefix(blank);
  const std::size_t before = out.size();
  if (!out.empty()) out += '&';
  const std::size_t begin = out.size();
  const std::size_t equals = text.find('=');
  append_name(text.substr(0, equals), out);
  if (equals != std::string_view::npos && equals + 1 < text.size()) {
    out += '=';
    append_value(text.substr(equals + 1), out);
  }
  if (out.size() == begin) out.resize(before);
}

}  // namespace

void set_plain_query(std::string_view query, std::string& out) {
  out.clear();
  for (;;) {
    const std::size_t end = query.find_first_of("&;");
    append_parameter(query.substr(0, end), out);
    if (end == std::string_view::npos) return;
    query.remove_prefix(end + 1);
  }
}

}  // namespace bloomwall::filter
