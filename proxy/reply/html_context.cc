// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/html_context.h"

#include <algorithm>
#include <array>

#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

constexpr std::array<std::string_view, 10> kUrlAttributes{"href",   "src",  "action",     "formaction", "cite",
                                                          "poster", "data", "background", "xlink:href", "ping"};
constexpr std::array<std::string_view, 6> kRawTags{"script", "style", "xmp", "iframe", "noembed", "plaintext"};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void HtmlContext::feed(std::string_view html) {
  for (const char c : html) on_octet(c);
}

HtmlPlace HtmlContext::place() const {
  if (!raw_until_.empty()) return HtmlPlace::forbidden;
  if (state_ == State::text) return HtmlPlace::text;
  if (state_ != State::quoted_value) return HtmlPlace::forbidden;
  if (attribute_ == "style" || attribute_ == "srcdoc" || attribute_ == "srcset" || attribute_.starts_with("on")) {
    return HtmlPlace::forbidden;
  }
  // <meta http-equiv="refresh" content="0; url=..."> follows its content.
  if (tag_ == "meta" && attribute_ == "content") return HtmlPlace::forbidden;
  if (!is_one_of(kUrlAttributes, attribute_)) return HtmlPlace::text;
  return value_octets_ == 0 ? HtmlPlace::url_begin : HtmlPlace::url_inside;
}

void HtmlContext::on_octet(char c) {
  switch (state_) {
    case State::text:
      in_text(c);
      break;
    case State::tag_begin:
      if (c == '!') {
        state_ = State::markup_declaration;
        tail_.clear();
      } else {
        state_ = State::tag_name;
        tag_.assign(1, lower(c));
      }
      break;
    case State::tag_name:
    case State::in_tag:
    case State::attribute_name:
    case State::before_value:
    case State::bare_value:
      in_tag(c);
      break;
    case State::quoted_value:
      ++value_octets_;
      if (c == quote_) state_ = State::in_tag;
      break;
    case State::markup_declaration:
      tail_.push_back(c);
      if (tail_ == "--") state_ = State::comment;
      if (c == '>') state_ = State::text;
      break;
    case State::comment:
      keep_tail(c);
      if (tail_.ends_with("-->")) state_ = State::text;
      break;
  }
}

void HtmlContext::in_text(char c) {
  if (raw_until_.empty()) {
    if (c == '<') state_ = State::tag_begin;
    return;
  }
  // Inside script and the like only the tag that ends it is markup.
  keep_tail(lower(c));
  if (!tail_.ends_with(raw_until_)) return;
  tag_ = raw_until_.substr(1);
  state_ = State::in_tag;
}

void HtmlContext::keep_tail(char c) {
  tail_.push_back(c);
  if (tail_.size() > 16) tail_.erase(0, tail_.size() - 12);
}

// In a tag, outside quotes.
void HtmlContext::in_tag(char c) {
  if (c == '>') return end_tag();
  if (state_ == State::before_value) {
    if (is_space(c)) return;
    value_octets_ = 0;
    quote_ = c;
    state_ = c == '"' || c == '\'' ? State::quoted_value : State::bare_value;
  } else if (c == '=' && state_ != State::bare_value) {
    state_ = State::before_value;
  } else if (is_space(c) || (c == '/' && state_ != State::bare_value)) {
    state_ = State::in_tag;
  } else if (state_ == State::tag_name) {
    tag_.push_back(lower(c));
  } else if (state_ == State::in_tag) {
    attribute_.assign(1, lower(c));
    state_ = State::attribute_name;
  } else if (state_ == State::attribute_name) {
    attribute_.push_back(lower(c));
  }
}

void HtmlContext::end_tag() {
  state_ = State::text;
  if (!raw_until_.empty()) {
    raw_until_.clear();
  } else if (is_one_of(kRawTags, tag_)) {
    raw_until_ = "</" + tag_;
    tail_.clear();
  }
}

}  // namespace bloomwall::proxy
