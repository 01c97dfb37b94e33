// Adblock filter lists, as far as their network rules can be followed by a proxy, which knows neither the page that
// asks nor what for.
//   ||example.com^   ||example.com^*   ||example.com/      S
//   ||example.com                      S, narrowed (it would match example.com.other.test too)
//   ||*.example.com^                   W             |example.com^   |example.com|   |example.com^|   X
//   ||example.com:8080^                S: the port goes, with a warning
//   ||192.0.2.0/24^   ||192.0.2.*^     a range of addresses
//   ||example.com/dir/   .../dir/*     D
//   ||example.com/file|                U
//   ||example.com/file^  .../file^*    U and D, narrowed: "/file;x" is not covered ('^' is any separator, '/' among
//                                      them)
//   ||example.com/pre    .../pre*      U and D, narrowed: "/prefix" is not covered
//   ||example.com/p?a=b|               Q       ||example.com/p?a=b   Q, narrowed       ||example.com/p?   U, any query
//   example.com   192.0.2.1   192.0.2.0/24   0.0.0.0 example.com   http://example.com/a   as in lists of those formats;
//                                      a bare name only if it ends in a top-level domain (is_known_top_level()) and its
//                                      registered label begins with a letter or digit, since others are pieces of URLs
//   @@rule                             allow rule of the same kinds
// Modifiers: adblock_rule.cc. $document, $all, $match-case and, with $document or $all, $popup change nothing; neither
// does $important, because the allow list overrules every filter. --aggressive keeps $third-party. Every other modifier
// narrows a rule to some requests, so the rule is left out; so is an exception with any modifier but $document.
// $badfilter takes back the rule that is written like it but for that modifier, wherever in the file. After a rule and
// white space, '#', ';', '!' and "//" begin a comment: hand-written lists have them. So does a '#' that is glued to a
// whole host, and a line with ';' or "//" and white space. Paths are compared case-sensitively, as with $match-case.
// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/adblock_rule.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"
#include "filter/url/host.h"
#include "filter/url/host_text.h"

namespace bloomwall::filter {
namespace {

// What follows the host of a "||" rule.
struct Tail {
  std::string_view text;   // without the terminator
  bool ends = false;       // '|' at the end: nothing may follow
  bool separator = false;  // '^' at the end: a separator or nothing follows
  bool star = false;       // '*' at the end
};

Tail cut_terminator(std::string_view text) {
  Tail tail;
  while (text.ends_with('*')) {
    tail.star = true;
    text.remove_suffix(1);
  }
  if (!tail.star && text.ends_with('|')) {
    tail.ends = true;
    text.remove_suffix(1);
  }
  if (text.ends_with('^')) {
    tail.separator = true;
    text.remove_suffix(1);
  }
  tail.text = text;
  return tail;
}

bool is_host_name(std::string_view text) {
  const bool octets = std::all_of(text.begin(), text.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  });
  if (text.empty() || !octets || text.front() == '.' || !ends_in_known_top_level(text)) return false;
  if (text.front() != '-' && text.front() != '_') return true;
  // "-ads.com", "_ads.co.uk": a registry gives no such name, but a host below one may begin like that.
  const std::size_t dot = text.find('.');
  const std::string_view parent = text.substr(dot + 1);
  return parent.find('.') != std::string_view::npos && !is_public_suffix(parent);
}

bool is_range(std::string_view text) {
  const RangeReading reading = read_address_range(text);
  return reading.outcome == RangeReading::Outcome::range || reading.has_host_bits;
}

// "; why", "// why" as the whole line: nobody asks for a URL with a blank.
bool is_spaced_comment(std::string_view text) {
  const std::size_t mark = text.starts_with("//") ? 2 : text.starts_with(';') ? 1 : 0;
  return mark > 0 && (text.size() == mark || is_blank(text[mark]));
}

// "example.com//", "example.com/x/..": rules about a page, and never about the host.
bool is_root_page(std::string_view url) {
  EntryParser parser;  // what is parsed lives in it
  const ParsedEntry parsed = parser.url(url);
  return !parsed.entries.empty() && is_host_kind(parsed.entries.front().kind);
}

class AdblockParser final : public LineParser {
 public:
  explicit AdblockParser(const ParsePlan& plan)
      : aggressive_(plan.options.aggressive), cancelled_(plan.cancelled), hosts_(make_hosts_parser(plan)) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    switch (adblock_line(text)) {
      case AdblockLine::blank:
        return {LineClass::blank};
      case AdblockLine::comment:
        return {LineClass::comment};
      case AdblockLine::condition:
        gate.warn(kWarnCondition);
        return {LineClass::boilerplate};
      case AdblockLine::include:
        return unsupported("include of another list");
      case AdblockLine::cosmetic:
        return unsupported("cosmetic rule");
      case AdblockLine::network: {
        if (is_spaced_comment(text)) return {LineClass::comment};
        const std::string_view rule = without_glued_comment(without_comment(text, kListMarks));
        return network_rule(rule.empty() ? text : rule, gate);
      }
    }
    return malformed("not an adblock rule");
  }

 private:
  LineOutcome network_rule(std::string_view text, EntryGate& gate) {
    const AdblockRule rule = split_adblock_rule(text);
    const ModifierEffect modifiers = combined_effect(rule.modifiers, aggressive_);
    if (cancelled_ && !cancelled_->rules.empty() && cancelled_->rules.contains(std::string(text))) {
      return {LineClass::cancelled};
    }
    if (modifiers.bad_filter) return bad_filter(text);
    const bool is_regex = rule.pattern.size() > 1 && rule.pattern.starts_with('/') && rule.pattern.ends_with('/');
    if (is_regex) return unsupported("regular expression");
    if (!modifiers.unusable.empty()) return unsupported(modifiers.unusable);
    if (rule.exception && modifiers.any && !modifiers.frees_all) return unsupported("exception with a modifier");
    gate.set_important(modifiers.important);
    const LineOutcome outcome = pattern(rule.pattern, rule.exception ? Side::allow : Side::block, gate);
    gate.set_important(false);
    if (outcome.used() && modifiers.important && !rule.exception) gate.warn(kWarnImportant);
    if (outcome.used() && modifiers.third_party) gate.warn(kWarnThirdParty);
    return outcome;
  }

  LineOutcome bad_filter(std::string_view text) const {
    const auto target = bad_filter_target(text);
    if (target && cancelled_ && cancelled_->rules.contains(*target)) return {LineClass::cancelled};
    return unsupported("$badfilter that could not be applied");
  }

  LineOutcome pattern(std::string_view text, Side side, EntryGate& gate) {
    if (text.starts_with("||")) return anchored(text.substr(2), side, gate);
    if (text.starts_with('|')) return one_host(text.substr(1), side, gate);
    const std::string_view host = split_port(bare_host(text)).host;
    if (is_address(host) || is_range(bare_host(text))) return gate.host(text, Kind::exact_host, side);
    if (is_host_name(host)) return gate.host(text, Kind::suffix, side);
    std::string_view words = text;
    if (side == Side::block && is_address(next_word(words)) && !trim(words).empty()) return hosts_->line(text, gate);
    const bool url = starts_ignoring_case(text, "http://") || starts_ignoring_case(text, "https://");
    if (url && text.find_first_of("*^|") == std::string_view::npos) return gate.url(text, side);
    return unsupported("piece of a URL");
  }

  // `text` is what stands after a single "|": the beginning of a URL, or in lists for resolvers of a host.
  static LineOutcome one_host(std::string_view text, Side side, EntryGate& gate) {
    const Tail tail = cut_terminator(text);
    if (tail.text.empty() || tail.text.find("://") != std::string_view::npos) return unsupported("rule for one scheme");
    if (tail.text.find('*') != std::string_view::npos) return unsupported("wildcard inside a rule");
    if (tail.text.find_first_of("^|/?#") != std::string_view::npos) return unsupported("piece of a URL");
    if (!tail.separator && !tail.ends) return unsupported("beginning of a host");
    return gate.host(tail.text, Kind::exact_host, side);
  }

  // `text` is what stands after "||".
  static LineOutcome anchored(std::string_view text, Side side, EntryGate& gate) {
    const Tail tail = cut_terminator(text);
    if (tail.separator && is_range(tail.text)) return gate.host(tail.text, Kind::exact_host, side);
    if (tail.text.starts_with("*.") && tail.text.find_first_of("*^|#/?", 2) == std::string_view::npos) {
      return subdomains(tail.text.substr(2), tail, side, gate);
    }
    if (tail.text.find('*') != std::string_view::npos) return unsupported("wildcard inside a rule");
    if (tail.text.find_first_of("^|") != std::string_view::npos) return unsupported("separator inside a rule");
    if (tail.text.find('#') != std::string_view::npos) return unsupported("rule with a fragment");
    const std::size_t literal = tail.text.starts_with('[') ? tail.text.find(']') : 0;
    if (literal == std::string_view::npos) return malformed("octets that no host has");
    const std::size_t end = tail.text.find_first_of("/?", literal);
    const std::string_view host = tail.text.substr(0, end);
    if (host.empty()) return unsupported("piece of a URL");
    if (end == std::string_view::npos) return whole_host(host, tail, side, gate);
    if (tail.text[end] == '?' || host.ends_with('.')) return unsupported("piece of a URL");
    return with_path(tail, end, side, gate);
  }

  static LineOutcome whole_host(std::string_view host, const Tail& tail, Side side, EntryGate& gate) {
    if (tail.separator && tail.ends) return unsupported("rule for the root page alone");
    if (tail.separator || tail.ends) return gate.host(host, Kind::suffix, side);
    // "||ads.", "||ads*" and "||ads" are beginnings of many hosts.
    if (tail.star || host.find('.') == std::string_view::npos || host.ends_with('.')) {
      return unsupported("beginning of a host");
    }
    const LineOutcome outcome = gate.host(host, Kind::suffix, side);
    if (outcome.used()) gate.warn(kWarnNarrowed);
    return outcome;
  }

  static LineOutcome subdomains(std::string_view host, const Tail& tail, Side side, EntryGate& gate) {
    if (tail.separator && tail.ends) return unsupported("rule for the root page alone");
    const bool whole = tail.separator || tail.ends;
    if (!whole && (tail.star || host.ends_with('.'))) return unsupported("beginning of a host");
    const LineOutcome outcome = gate.host(host, Kind::subdomains, side);
    if (outcome.used() && !whole) gate.warn(kWarnNarrowed);
    return outcome;
  }

  // `path` is where the path begins in tail.text.
  static LineOutcome with_path(const Tail& tail, std::size_t path, Side side, EntryGate& gate) {
    const std::string_view text = tail.text;
    const bool terminated = tail.ends || tail.separator;
    if (const std::size_t query = text.find('?', path); query != std::string_view::npos) {
      return with_query(tail, query, side, gate);
    }
    if (text.size() == path + 1) {  // "||host/"
      if (terminated) return unsupported("rule for the root page alone");
      return gate.host(text.substr(0, path), Kind::suffix, side);
    }
    if (is_root_page(text)) return unsupported("rule for the root page alone");
    // "/dir/|" and "/dir/^" are the directory's own page, which U of "/dir" stands for.
    if (tail.ends) return gate.url(text.ends_with('/') ? text.substr(0, text.size() - 1) : text, side);
    if (tail.separator && text.ends_with('/')) return gate.url(text.substr(0, text.size() - 1), side);
    if (text.ends_with('/')) return gate.url(text, side);
    const LineOutcome outcome = gate.url_prefix(text, side);
    if (outcome.used()) gate.warn(kWarnNarrowed);
    return outcome;
  }

  static LineOutcome with_query(const Tail& tail, std::size_t query, Side side, EntryGate& gate) {
    if (query + 1 == tail.text.size()) {
      std::string_view page = tail.text.substr(0, query);
      // "||host/?": any query of the root page. U of "/" is that page, and not the whole host.
      if (page.ends_with('/')) return unsupported("any query of a directory");
      const LineOutcome outcome = gate.url(page, side);
      if (outcome.used()) gate.warn(kWarnAnyQuery);
      return outcome;
    }
    const LineOutcome outcome = gate.url(tail.text, side);
    if (outcome.used() && !tail.ends) gate.warn(kWarnNarrowed);
    return outcome;
  }

  bool aggressive_;
  std::shared_ptr<const BadFilterRules> cancelled_;
  std::unique_ptr<LineParser> hosts_;
};

}  // namespace

std::unique_ptr<LineParser> make_adblock_parser(const ParsePlan& plan) { return std::make_unique<AdblockParser>(plan); }

}  // namespace bloomwall::filter
