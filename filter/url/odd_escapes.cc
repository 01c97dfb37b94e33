// SPDX-License-Identifier: Apache-2.0
#include "filter/url/odd_escapes.h"

#include <algorithm>

#include "base/encoding.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

// Servlet containers compute the value of a digit without looking whether it is one, so these are digits to some of
// them: '0' to '9', ':' to '?' (10 to 15), '@' (9), '`' (9), and letters.
bool is_loose_digit(char c) { return (c >= '0' && c <= 'F') || (c >= '`' && c <= 'f'); }

bool begins_with_loose_digits(std::string_view text, std::size_t count) {
  return text.size() >= count &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(count), is_loose_digit);
}

// 0 to 15.
int loose_value(char c) {
  if (c >= '0' && c <= '?') return c - '0';
  return c == '@' || c == '`' ? 9 : hex_value(c);
}

// The octet that the escape at text[at] ('%') stands for where its digits are loose ones, or -1; also of a strict one.
int loose_octet(std::string_view text, std::size_t at) {
  if (text.size() - at < 3 || !is_loose_digit(text[at + 1]) || !is_loose_digit(text[at + 2])) return -1;
  return loose_value(text[at + 1]) * 16 + loose_value(text[at + 2]);
}

void append_utf8(unsigned code, std::string& out) {
  const auto put = [&out](unsigned octet) { out.push_back(static_cast<char>(octet)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6U));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

}  // namespace

bool holds_odd_escape(std::string_view path, std::string& decoded) {
  decoded.clear();
  append_decoded_fully(path, decoded);
  const std::string_view all(decoded);
  for (std::size_t at = all.find('%'); at != std::string_view::npos; at = all.find('%', at + 1)) {
    const std::string_view behind = all.substr(at + 1);
    if (!behind.empty() && (behind[0] == 'u' || behind[0] == 'U') && begins_with_loose_digits(behind.substr(1), 4))
      return true;
  }
  return false;
}

bool append_loose_escapes_made_strict(std::string_view text, std::string& out) {
  bool found = false;
  for (std::size_t at = 0; at < text.size();) {
    const int octet = text[at] == '%' ? loose_octet(text, at) : -1;
    if (octet < 0 || escape_at(text, at) >= 0) {
      out.push_back(text[at++]);
      continue;
    }
    found = true;
    append_percent_escape(static_cast<char>(octet), out);
    at += 3;
  }
  return found;
}

bool holds_loose_escape(std::string_view text) {
  std::size_t at = text.find('%');
  while (at != std::string_view::npos && loose_octet(text, at) < 0) at = text.find('%', at + 1);
  return at != std::string_view::npos;
}

void append_loosely_decoded(std::string_view text, std::string& out) {
  const std::size_t bottom = out.size();
  for (const char c : text) {
    out.push_back(c);
    while (out.size() - bottom >= 3 && out[out.size() - 3] == '%') {
      const int octet = loose_octet(out, out.size() - 3);
      if (octet < 0) break;
      out.resize(out.size() - 2);
      out.back() = static_cast<char>(octet);
    }
  }
}

void append_unicode_escapes_decoded(std::string_view query, std::string& out) {
  for (std::size_t at = 0; at < query.size();) {
    const std::string_view escape = query.substr(at, 8);  // "%25uXXXX"
    const bool is_named = escape.size() == 8 && (escape.starts_with("%25u") || escape.starts_with("%25U"));
    const int high = is_named ? hex_octet(escape, 4) : -1;
    const int low = is_named ? hex_octet(escape, 6) : -1;
    if (high >= 0 && low >= 0) {
      append_utf8(static_cast<unsigned>(high) * 256U + static_cast<unsigned>(low), out);
      at += escape.size();
    } else {
      out.push_back(query[at++]);
    }
  }
}

bool is_blank_by_itself(std::string_view text, std::size_t at) {
  const int octet = escape_at(text, at);
  return (octet == 0x85 || octet == 0xA0) && (at < 3 || text[at - 3] != '%' || escape_at(text, at - 3) < 0x80);
}

std::size_t target_end(std::string_view text) {
  std::size_t at = text.find('%');
  while (at != std::string_view::npos) {
    const int octet = escape_at(text, at);
    if (octet >= 0 && (octet <= 0x20 || octet == '#' || is_blank_by_itself(text, at))) break;
    at = text.find('%', at + 1);
  }
  return at;
}

std::size_t decoded_target_end(std::string_view text) {
  bool is_behind_ascii = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto octet = static_cast<unsigned char>(text[at]);
    if (octet <= 0x20 || octet == '#' || (is_behind_ascii && (octet == 0x85 || octet == 0xA0))) return at;
    is_behind_ascii = octet < 0x80;
  }
  return text.size();
}

}  // namespace bloomwall::filter
