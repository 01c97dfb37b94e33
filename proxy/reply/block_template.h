// The HTML of the 403 page: a template parsed once, rendered for each blocked request.
// Syntax: {{name}} a value; {{#name}}...{{/name}} only where the value is not empty; {{! ... !}} a comment, not sent.
// Names: the list in kTemplateVariables, described in conf/blocked.html. Values are escaped for the place they stand
// in: text and quoted attributes as HTML, inside href and src also as a part of a URL; anywhere else (script, style,
// tag names, unquoted attributes) a variable is a parse error, so no template can be made that lets a URL become
// markup.
// Immutable after parse(); render() is thread-safe and linear.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace bloomwall::proxy {

enum class TemplateVariable : std::uint8_t {
  url,         // what was asked for; cut to 2,000 octets
  host,        // its host
  filter,      // the filter that holds it; empty where it is on no list and must be
  stopped_by,  // "The filter malware of this network", "This network"
  group,       // the group that the client is in; empty where there are none
  reason,      // a sentence: why
  expression,  // the entry that matched
  decision_id,
  time,          // 2024-05-01T12:34:56.789Z
  status,        // 403 or 451
  title,         // "Blocked" in words for this status
  contact,       // as configured
  contact_link,  // mailto: or the URL; empty where contact is neither
  report_link,   // filled from block_page.report_url; empty where none
  legal_link,    // of a filter with status 451
  proxy_name,
  exception,  // the number of the exception that denied it; empty where none did
};
inline constexpr std::array<std::string_view, 17> kTemplateVariables{
    "url",    "host",  "filter",  "stopped_by",   "group",       "reason",     "expression", "decision_id", "time",
    "status", "title", "contact", "contact_link", "report_link", "legal_link", "proxy_name", "exception"};
using TemplateValues = std::array<std::string_view, kTemplateVariables.size()>;  // indexed by TemplateVariable

struct TemplateError {
  int line = 0;      // 1-based
  int column = 0;    // 1-based
  std::string what;  // names the variable
};

class BlockTemplate {
 public:
  static constexpr std::size_t kMaxBytes = 262'144;
  static tl::expected<BlockTemplate, TemplateError> parse(std::string_view text);
  static const BlockTemplate& built_in();  // conf/blocked.html as it was when this was compiled
  void render(std::string& out, const TemplateValues& values) const;

 private:
  enum class Kind : std::uint8_t { literal, text, url_part, url_whole, section_begin, section_end };
  struct Piece {
    Kind kind;
    TemplateVariable variable;
    std::uint32_t begin, size;  // literal: inside text_; section_begin: index of its end in begin
  };
  friend class TemplateParser;
  std::string text_;
  std::vector<Piece> pieces_;
};

// The text conf/blocked.html had at compile time.
std::string_view built_in_block_template();

}  // namespace bloomwall::proxy
