// Privoxy action files, as far as a proxy without content rules can follow them: literal hosts.
//   {+block{Trackers.}}     the patterns up to the next section are stopped; under {-block} they are allow rules
//   .example.com            S
//   example.com             X
//   example.com/            likewise; '/' alone as path says nothing, nor does a port
//   192.0.2.*               a range of addresses
// Aliases are followed. A '\' at the end of a line joins the next one to it; '#' starts a comment unless escaped.
// Unsupported: path patterns (regular expressions), wildcards, hosts open to the right ("ads."), tags, and
// patterns in sections that say nothing about blocking. Lines whose joined line can't be used are lost with it, each of
// them counted.
// Boilerplate: section heads, {{settings}}, {{alias}}, {{description}}.
// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/privoxy_parser.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/url/address_range.h"
#include "filter/url/host_text.h"

namespace bloomwall::filter {
namespace {

// Takes the next action off `rest` and gives its name: "+block" of "+block{some reason}". Braces may be nested.
std::string_view next_action(std::string_view& rest) {
  rest = trim(rest);
  std::size_t name = 0;
  while (name < rest.size() && !is_blank(rest[name]) && rest[name] != '{') ++name;
  std::size_t end = name;
  int depth = 0;
  while (end < rest.size() && (depth > 0 || rest[end] == '{')) {
    if (rest[end] == '{') ++depth;
    if (rest[end] == '}') --depth;
    ++end;
  }
  const std::string_view action = rest.substr(0, name);
  rest.remove_prefix(end > 0 ? end : 1);
  return action;
}

}  // namespace

bool PrivoxyActions::define(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = trim(line.substr(0, equals));
  if (name.empty() || name.size() > kMaxAliasName || aliases_.size() >= kMaxAliases) return false;
  aliases_.insert_or_assign(std::string(name), effect(line.substr(equals + 1)));
  return true;
}

PrivoxyEffect PrivoxyActions::effect(std::string_view actions) const {
  PrivoxyEffect result = PrivoxyEffect::none;
  for (actions = trim(actions); !actions.empty(); actions = trim(actions)) {
    const std::string_view action = next_action(actions);
    if (action == "+block") {
      result = PrivoxyEffect::block;
    } else if (action == "-block") {
      result = PrivoxyEffect::unblock;
    } else if (action.size() <= kMaxAliasName) {
      const auto alias = aliases_.find(std::string(action));
      if (alias != aliases_.end() && alias->second != PrivoxyEffect::none) result = alias->second;
    }
  }
  return result;
}

namespace {

constexpr std::size_t kMaxJoinedLines = 1000;

std::string_view without_escaped_comment(std::string_view text) {
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    if (at == 0 || text[at - 1] != '\\') return text.substr(0, at);
  }
  return text;
}

bool is_tag(std::string_view pattern) {
  return pattern.starts_with("TAG:") || pattern.starts_with("CLIENT-TAG:") || pattern.starts_with("NO-REQUEST-TAG:") ||
         pattern.starts_with("NO-RESPONSE-TAG:") || pattern.starts_with("PCRE-HOST-PATTERN:");
}

LineOutcome pattern(std::string_view text, Side side, EntryGate& gate) {
  if (is_tag(text)) return unsupported("tag pattern");
  const std::size_t slash = text.find('/');
  std::string_view host = text.substr(0, slash);
  if (slash != std::string_view::npos && text.size() > slash + 1) return unsupported("path pattern");
  if (host.empty()) return unsupported("every name");
  const bool address =
      is_address(split_port(host).host) || read_address_range(host).outcome == RangeReading::Outcome::range;
  if (!address && host.find_first_of("*?[") != std::string_view::npos) return unsupported("wildcard inside a host");
  if (host.ends_with('.')) return unsupported("beginning of a host");
  if (!host.starts_with('.')) return gate.host(host, Kind::exact_host, side);
  return gate.host(host.substr(1), Kind::suffix, side);
}

class PrivoxyParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& gate) override {
    const bool all_comment = trim(text).starts_with('#');
    text = trim(without_escaped_comment(text));
    if (text.ends_with('\\')) return join(text.substr(0, text.size() - 1), gate);
    if (held_.empty()) {
      if (text.empty()) return {all_comment ? LineClass::comment : LineClass::blank};
      return logical_line(text, gate);
    }
    if (all_comment) return {LineClass::comment};
    joined_.append(text);
    const std::string whole = std::exchange(joined_, {});
    const LineOutcome outcome = logical_line(trim(whole), gate);
    if (outcome.what == LineClass::malformed || outcome.what == LineClass::unsupported) {
      held_.lose(gate, outcome);
    } else {
      held_.use_up(gate);
    }
    return outcome;
  }

  void finish(EntryGate& gate) override { held_.lose(gate, malformed("the file ends within a joined line")); }

 private:
  enum class Section : std::uint8_t { none, alias, settings, actions };

  LineOutcome join(std::string_view text, EntryGate& gate) {
    joined_.append(text).push_back(' ');
    if (!held_.full()) return held_.hold(text, gate);
    const LineOutcome outcome = malformed("line joined from too many");
    held_.lose(gate, outcome);
    joined_.clear();
    return outcome;
  }

  LineOutcome logical_line(std::string_view text, EntryGate& gate) {
    if (text.empty()) return {LineClass::blank};
    if (text.starts_with("{{")) {
      section_ = text.starts_with("{{alias") ? Section::alias : Section::settings;
      return {LineClass::boilerplate};
    }
    if (text.starts_with('{')) return head(text);
    switch (section_) {
      case Section::none:
        return malformed("pattern before any section");
      case Section::settings:
        return {LineClass::boilerplate};
      case Section::alias:
        return actions_.define(text) ? LineOutcome{LineClass::boilerplate} : malformed("not an alias");
      case Section::actions:
        break;
    }
    switch (effect_) {
      case PrivoxyEffect::none:
        return unsupported("section that says nothing about blocking");
      case PrivoxyEffect::block:
        return pattern(text, Side::block, gate);
      case PrivoxyEffect::unblock:
        return pattern(text, Side::allow, gate);
    }
    return malformed("pattern before any section");
  }

  LineOutcome head(std::string_view text) {
    section_ = Section::actions;
    effect_ = PrivoxyEffect::none;
    if (!text.ends_with('}')) return malformed("section head is not closed");
    effect_ = actions_.effect(text.substr(1, text.size() - 2));
    return {LineClass::boilerplate};
  }

  PrivoxyActions actions_;
  Section section_ = Section::none;
  PrivoxyEffect effect_ = PrivoxyEffect::none;
  std::string joined_;
  HeldLines held_{kMaxJoinedLines};
};

}  // namespace

std::unique_ptr<LineParser> make_privoxy_parser(const ParsePlan& /*plan*/) { return std::make_unique<PrivoxyParser>(); }

}  // namespace bloomwall::filter
