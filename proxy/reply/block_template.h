// The HTML of the 403 page: a template parsed once, rendered for each blocked request.
// Syntax: {{name}} a value; {{#name}}...{{/name}} only where the value is not empty; {{t.name}} a text of
// page_texts.txt in the reader's language; {{! ... !}} a comment, not sent.
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
#include <tl/expected.hpp>
#include <vector>

#include "proxy/reply/page_texts.h"

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
  exception,      // the number of the exception that denied it; empty where none did
  report_action,  // where the form that reports a mistake is sent to; empty where there is none
  report_ticket,  // its hidden member "ticket"; likewise
  lang,           // "de": of the texts
  dir,            // "ltr" or "rtl"
  lead_begin,     // of the sentence that says what has stopped a page of which host: what stands before the host
  lead_end,       // and behind it
  category,       // of the filter, as its file says; empty: none
  filter_title,   // "adult (hagezi-nsfw)"; the name alone where the filter has no category
  until,          // "06:30", or "2026-11-28 06:30": until when it is blocked; empty: no end is known
  schedule,       // "bedtime": by which it is blocked until then; empty: by none
  local_time,     // "2026-11-27 06:30:07 (Europe/Berlin)"
};
inline constexpr std::array<std::string_view, 28> kTemplateVariables{
    "url",         "host",       "filter",    "stopped_by",    "group",         "reason",       "expression",
    "decision_id", "time",       "status",    "title",         "contact",       "contact_link", "report_link",
    "legal_link",  "proxy_name", "exception", "report_action", "report_ticket", "lang",         "dir",
    "lead_begin",  "lead_end",   "category",  "filter_title",  "until",         "schedule",     "local_time"};
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
  void render(std::string& out, const TemplateValues& values, Language language = Language::en) const;
  // Whether it says {{lang}}, and so is for readers of any language.
  bool has_languages() const { return has_languages_; }

 private:
  enum class Kind : std::uint8_t { literal, text, url_part, url_whole, section_begin, section_end, page_text };
  struct Piece {
    Kind kind;
    TemplateVariable variable;
    // literal: inside text_; section_begin: index of its end in begin; page_text: which in begin
    std::uint32_t begin, size;
  };
  friend class TemplateParser;
  std::string text_;
  std::vector<Piece> pieces_;
  bool has_languages_ = false;
};

// The text conf/blocked.html had at compile time.
std::string_view built_in_block_template();

// Follows HTML octet by octet, just far enough to know what an inserted value would be at a point: text, an attribute
// value, part of a URL, or something into which no foreign text may go. Knows the markup people write in templates, not
// every error recovery of browsers; where in doubt the answer is `forbidden`.
enum class HtmlPlace : std::uint8_t {
  text,        // between tags, or in a quoted attribute that is not a URL, no style, no script
  url_begin,   // first in a quoted href, src, ...
  url_inside,  // later in one
  forbidden,   // tag or attribute names, unquoted values, comments, script, style, event handlers
};

class HtmlContext {
 public:
  void feed(std::string_view html);
  HtmlPlace place() const;
  bool between_tags() const { return state_ == State::text && raw_until_.empty(); }
  void value_inserted() { ++value_octets_; }

 private:
  enum class State : std::uint8_t {
    text,
    tag_begin,
    tag_name,
    in_tag,
    attribute_name,
    before_value,
    quoted_value,
    bare_value,
    markup_declaration,
    comment
  };
  void on_octet(char c);
  void in_text(char c);
  void in_tag(char c);
  void end_tag();
  void keep_tail(char c);

  State state_ = State::text;
  char quote_ = 0;
  std::string tag_;        // lower case, with '/' where it closes
  std::string attribute_;  // lower case
  std::string raw_until_;  // "</script": only this ends the raw text
  std::string tail_;       // last octets of a comment or raw text
  std::size_t value_octets_ = 0;
};

}  // namespace bloomwall::proxy
