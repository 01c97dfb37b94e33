// SPDX-License-Identifier: Apache-2.0

#include "proxy/reply/block_template.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "proxy/http/escape.h"
#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kTextMark = "t.";

std::optional<TemplateVariable> variable_named(std::string_view name) {
  const auto at = std::find(kTemplateVariables.begin(), kTemplateVariables.end(), name);
  if (at == kTemplateVariables.end()) return std::nullopt;
  return static_cast<TemplateVariable>(at - kTemplateVariables.begin());
}

bool is_link(TemplateVariable variable) {
  return variable == TemplateVariable::contact_link || variable == TemplateVariable::report_link ||
         variable == TemplateVariable::legal_link || variable == TemplateVariable::report_action;
}

}  // namespace

// One pass over the text: literals feed the HTML context, which says what a value at this point would become.
class TemplateParser {
 public:
  using MaybeError = std::optional<TemplateError>;
  explicit TemplateParser(std::string_view text) { made_.text_ = text; }

  tl::expected<BlockTemplate, TemplateError> run() {
    if (made_.text_.size() > BlockTemplate::kMaxBytes) return tl::unexpected(error(0, "the template is over 256 KiB"));
    for (std::size_t at = 0; at < made_.text_.size();) {
      const std::size_t open = std::min(made_.text_.find("{{", at), made_.text_.size());
      add_literal(at, open);
      if (open == made_.text_.size()) break;
      const bool comment = made_.text_.compare(open, 3, "{{!") == 0;
      const std::string_view end = comment ? "!}}" : "}}";
      const std::size_t close = made_.text_.find(end, open + (comment ? 3 : 2));
      if (close == std::string::npos) {
        return tl::unexpected(error(open, "an opening \"{{\" without \"" + std::string(end) + "\""));
      }
      if (const MaybeError failure = on_tag(open, close)) return tl::unexpected(*failure);
      at = close + end.size();
    }
    if (!open_.empty()) {
      return tl::unexpected(error(open_.back().at, "{{#" + name_of(open_.back().variable) + "}} is never closed"));
    }
    return std::move(made_);
  }

 private:
  struct Open {
    TemplateVariable variable;
    std::size_t at;
    std::size_t piece;
  };
  static std::string name_of(TemplateVariable variable) {
    return std::string(kTemplateVariables[static_cast<std::size_t>(variable)]);
  }

  TemplateError error(std::size_t at, std::string what) const {
    const std::string_view before = std::string_view(made_.text_).substr(0, at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return {static_cast<int>(line), static_cast<int>(at - begin + 1), std::move(what)};
  }

  void add_literal(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    context_.feed(std::string_view(made_.text_).substr(begin, end - begin));
    made_.pieces_.push_back({BlockTemplate::Kind::literal, TemplateVariable::url, static_cast<std::uint32_t>(begin),
                             static_cast<std::uint32_t>(end - begin)});
  }

  MaybeError on_tag(std::size_t open, std::size_t close) {
    std::string_view name = std::string_view(made_.text_).substr(open + 2, close - open - 2);
    if (name.starts_with('!')) return std::nullopt;
    const char mark = name.starts_with('#') || name.starts_with('/') ? name.front() : ' ';
    if (mark != ' ') name.remove_prefix(1);
    name = trim(name);
    if (mark == ' ' && name.starts_with(kTextMark)) return add_text(name.substr(kTextMark.size()), open);
    const auto variable = variable_named(name);
    if (!variable) return error(open, "unknown variable \"" + std::string(name) + "\"");
    if (mark == '#') return begin_section(*variable, open);
    return mark == '/' ? end_section(*variable, open) : add_value(*variable, open);
  }

  MaybeError begin_section(TemplateVariable variable, std::size_t at) {
    if (!context_.between_tags()) return error(at, "{{#" + name_of(variable) + "}} may only stand between tags");
    open_.push_back({variable, at, made_.pieces_.size()});
    made_.pieces_.push_back({BlockTemplate::Kind::section_begin, variable, 0, 0});
    return std::nullopt;
  }

  MaybeError end_section(TemplateVariable variable, std::size_t at) {
    if (open_.empty() || open_.back().variable != variable) {
      return error(at, "{{/" + name_of(variable) + "}} closes nothing that is open");
    }
    if (!context_.between_tags()) return error(at, "{{/" + name_of(variable) + "}} may only stand between tags");
    made_.pieces_[open_.back().piece].begin = static_cast<std::uint32_t>(made_.pieces_.size());
    made_.pieces_.push_back({BlockTemplate::Kind::section_end, variable, 0, 0});
    open_.pop_back();
    return std::nullopt;
  }

  // Texts into which values are filled need the program.
  MaybeError add_text(std::string_view name, std::size_t at) {
    const auto text = page_text_named(name);
    const bool is_whole = text && page_text(*text, Language::en).find('{') == std::string_view::npos;
    if (!is_whole) return error(at, "there is no text \"" + std::string(name) + "\" for templates");
    if (context_.place() != HtmlPlace::text) {
      return error(at, "{{t." + std::string(name) + "}} may stand only in text or in a quoted attribute");
    }
    context_.value_inserted();
    made_.pieces_.push_back(
        {BlockTemplate::Kind::page_text, TemplateVariable::url, static_cast<std::uint32_t>(*text), 0});
    return std::nullopt;
  }

  MaybeError add_value(TemplateVariable variable, std::size_t at) {
    BlockTemplate::Kind kind = BlockTemplate::Kind::text;
    switch (context_.place()) {
      case HtmlPlace::text:
        break;
      case HtmlPlace::url_begin:
        if (!is_link(variable)) return error(at, "{{" + name_of(variable) + "}} is no link and cannot begin a URL");
        kind = BlockTemplate::Kind::url_whole;
        break;
      case HtmlPlace::url_inside:
        kind = BlockTemplate::Kind::url_part;
        break;
      case HtmlPlace::forbidden:
        return error(at, "{{" + name_of(variable) + "}} may stand only in text or in a quoted attribute");
    }
    context_.value_inserted();
    if (variable == TemplateVariable::lang) made_.has_languages_ = true;
    made_.pieces_.push_back({kind, variable, 0, 0});
    return std::nullopt;
  }

  BlockTemplate made_;
  HtmlContext context_;
  std::vector<Open> open_;
};

tl::expected<BlockTemplate, TemplateError> BlockTemplate::parse(std::string_view text) {
  return TemplateParser(text).run();
}

const BlockTemplate& BlockTemplate::built_in() {
  static const BlockTemplate made = [] {
    auto parsed = parse(built_in_block_template());
    if (!parsed) std::abort();  // block_template_test.cc parses the same text: this cannot ship
    return *std::move(parsed);
  }();
  return made;
}

void BlockTemplate::render(std::string& out, const TemplateValues& values, Language language) const {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const std::string_view value = values[static_cast<std::size_t>(piece.variable)];
    switch (piece.kind) {
      case Kind::literal:
        out.append(text_, piece.begin, piece.size);
        break;
      case Kind::text:
        append_html(out, value);
        break;
      case Kind::url_whole:
        append_html(out, safe_link(value));
        break;
      case Kind::url_part:
        append_percent_encoded(out, value);
        break;
      case Kind::section_begin:
        if (value.empty()) i = piece.begin;
        break;
      case Kind::section_end:
        break;
      case Kind::page_text:
        append_html(out, proxy::page_text(static_cast<PageText>(piece.begin), language));
        break;
    }
  }
}

namespace {

constexpr std::array<std::string_view, 10> kUrlAttributes{"href",   "src",  "action",     "formaction", "cite",
                                                          "poster", "data", "background", "xlink:href", "ping"};
constexpr std::array<std::string_view, 6> kRawTags{"script", "style", "xmp", "iframe", "noembed", "plaintext"};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

template <std::size_t N>
bool is_named_in(const std::array<std::string_view, N>& names, std::string_view name) {
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
  if (!is_named_in(kUrlAttributes, attribute_)) return HtmlPlace::text;
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
  } else if (is_named_in(kRawTags, tag_)) {
    raw_until_ = "</" + tag_;
    tail_.clear();
  }
}

}  // namespace bloomwall::proxy
