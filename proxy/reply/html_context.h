// Follows HTML octet by octet, just far enough to know what an inserted value would be at a point: text, an attribute
// value, part of a URL, or something into which no foreign text may go. Knows the markup people write in templates, not
// every error recovery of browsers; where in doubt the answer is `forbidden`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

enum class HtmlPlace : std::uint8_t {
  text,        // between tags, or in a quoted attribute that is no URL, no style, no script
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
