// SPDX-License-Identifier: Apache-2.0
#include "proxy/http/escape.h"

#include <array>
#include <cstdint>

#include "base/encoding.h"
#include "base/utf8.h"
#include "proxy/http/fields.h"
#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD in UTF-8

void append_hex(std::string& out, char c) {
  const auto octet = static_cast<unsigned char>(c);
  out.push_back(kUpperHexDigits[octet >> 4]);
  out.push_back(kUpperHexDigits[octet & 15U]);
}

// "\u00E9": one unit of UTF-16.
void append_json_unit(std::string& out, char32_t unit) {
  out.append("\\u");
  append_hex(out, static_cast<char>(unit >> 8U));
  append_hex(out, static_cast<char>(unit));
}

// One unit, or the two of a surrogate pair.
void append_json_character(std::string& out, char32_t code) {
  if (code < 0x10000) return append_json_unit(out, code);
  append_json_unit(out, 0xd7c0 + (code >> 10U));
  append_json_unit(out, 0xdc00 + (code & 0x3ffU));
}

bool is_graphic(char c) { return c > 0x20 && c < 0x7f; }
bool is_unreserved(char c) {
  const char low = lower(c);
  return (low >= 'a' && low <= 'z') || is(octets::digit, c) || c == '-' || c == '.' || c == '_' || c == '~';
}
// Octets that break out of HTML attributes, header fields or <> around a link are not taken as URL octets.
bool is_url_octet(char c) {
  return is_graphic(c) && std::string_view("\"'<>\\^`{|}").find(c) == std::string_view::npos;
}

// Nothing of it is escaped in a JSON string or a quoted word, which is so of nearly all that is logged. A loop without
// branches, which compilers turn into vector code.
bool is_plain_text(std::string_view text) {
  unsigned found = 0;
  for (const char c : text) {
    const auto octet = static_cast<std::uint8_t>(c);
    found |= static_cast<unsigned>(octet < 0x20) | static_cast<unsigned>(octet > 0x7e);
    found |= static_cast<unsigned>(octet == '"') | static_cast<unsigned>(octet == '\\');
  }
  return found == 0;
}

}  // namespace

void append_html(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '"':
        out.append("&quot;");
        break;
      case '\'':
        out.append("&#39;");
        break;
      case '`':
        out.append("&#96;");
        break;
      default:
        is_control(c) ? out.append(kReplacement) : out.append(1, c);
        break;
    }
  }
}

void append_percent_encoded(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (is_unreserved(c)) {
      out.push_back(c);
    } else {
      out.push_back('%');
      append_hex(out, c);
    }
  }
}

void append_url(std::string& out, std::string_view url) {
  for (const char c : url) {
    if (is_url_octet(c)) {
      out.push_back(c);
    } else {
      out.push_back('%');
      append_hex(out, c);
    }
  }
}

void append_json(std::string& out, std::string_view text) {
  if (is_plain_text(text)) {
    out.append(text);
    return;
  }
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const char c = text.front();
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (is_graphic(c) || c == ' ') {
      out.push_back(c);
    } else if (character.code == Utf8Character::kNone) {
      append_json_unit(out, static_cast<unsigned char>(c));
    } else {
      append_json_character(out, character.code);
    }
    text.remove_prefix(character.size);
  }
}

void append_sf_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(is_graphic(c) || c == ' ' ? c : '?');
  }
  out.push_back('"');
}

void append_log_quoted(std::string& out, std::string_view text) {
  if (is_plain_text(text)) {
    out.append(text);
    return;
  }
  for (const char c : text) {
    if ((is_graphic(c) || c == ' ') && c != '"' && c != '\\') {
      out.push_back(c);
    } else {
      out.append("\\x");
      append_hex(out, c);
    }
  }
}

void append_log_bare(std::string& out, std::string_view text) {
  if (text.empty()) out.push_back('-');
  if (is_plain_text(text) && text.find(' ') == std::string_view::npos) {
    out.append(text);
    return;
  }
  for (const char c : text) {
    if (is_graphic(c) && c != '"' && c != '\\') {
      out.push_back(c);
    } else {
      out.push_back('%');
      append_hex(out, c);
    }
  }
}

std::optional<std::string> decode_form_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out.push_back(text[at] == '+' ? ' ' : text[at]);
      continue;
    }
    const int octet = hex_octet(text, at + 1);
    if (octet < 0) return std::nullopt;
    out.push_back(static_cast<char>(octet));
    at += 2;
  }
  return out;
}

std::string_view safe_link(std::string_view url) {
  constexpr std::array<std::string_view, 3> kSchemes{"https://", "http://", "mailto:"};
  for (const char c : url) {
    if (!is_url_octet(c)) return {};
  }
  for (const std::string_view scheme : kSchemes) {
    if (url.size() > scheme.size() && same_name(url.substr(0, scheme.size()), scheme)) return url;
  }
  return {};
}

}  // namespace bloomwall::proxy
