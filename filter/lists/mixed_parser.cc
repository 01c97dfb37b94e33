// Lists that people write by hand and services that join lists: lines of several formats, each plain by itself.
//   example.com   *.example.com   .example.com   192.0.2.1   192.0.2.0/24   0.0.0.0 example.com     as in such lists
//   ||example.com^   @@||example.com^   ||example.com/ads/$important                                 adblock rules
//   http://example.com/a   example.com/a                                                             URLs
//   address=/example.com/#   local-zone: "example.com." always_null                                  dnsmasq, unbound
// Malformed: what needs other lines to be understood (CSV, zones, Privoxy), words without a dot, which may be anything,
// and text behind an address that is no sink.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "filter/lists/adblock_rule.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/url/host.h"
#include "filter/url/host_text.h"

namespace bloomwall::filter {
namespace {

// "banner", "*.gif"; "*.zip" is a top-level domain.
bool is_single_word(std::string_view word) {
  const std::string_view bare = word.substr(word.starts_with("*.") ? 2 : word.starts_with('.') ? 1 : 0);
  if (has_dot(bare) || bare.find_first_of(":/") != std::string_view::npos) return false;
  return bare.size() == word.size() || !is_top_level_domain(bare);
}

// "0.0.0.0a.example", whose blank is lost.
bool begins_with_sink(std::string_view word) {
  constexpr std::array<std::string_view, 2> kSinks{"0.0.0.0", "127.0.0.1"};
  return std::any_of(kSinks.begin(), kSinks.end(), [word](std::string_view sink) {
    return word.starts_with(sink) && word.size() > sink.size() && is_alpha(word[sink.size()]);
  });
}

class MixedParser final : public LineParser {
 public:
  explicit MixedParser(const ParsePlan& plan)
      : names_(make_domain_parser(plan)),
        hosts_(make_hosts_parser(plan)),
        adblock_(make_adblock_parser(plan)),
        dnsmasq_(make_dnsmasq_parser(plan)),
        unbound_(make_unbound_parser(plan)),
        urls_(make_url_parser(plan)) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (text.front() == '#' && adblock_line(text) == AdblockLine::cosmetic) return unsupported("cosmetic rule");
    if (is_comment(text, kMarks)) return {LineClass::comment};
    switch (shape_of(text)) {
      case LineShape::empty:
      case LineShape::adblock_title:
        return {LineClass::comment};
      case LineShape::adblock:
      case LineShape::adblock_host:
        return adblock_->line(text, gate);
      case LineShape::unbound:
        return unbound_->line(text, gate);
      case LineShape::dnsmasq:
        return dnsmasq_->line(text, gate);
      case LineShape::hosts:
        return hosts_->line(text, gate);
      case LineShape::url:
      case LineShape::url_no_scheme:
        return urls_->line(text, gate);
      case LineShape::wildcard:
      case LineShape::range:
      case LineShape::columns:
      case LineShape::other:
        return name(text, gate);
      case LineShape::privoxy:
      case LineShape::zone_head:
      case LineShape::zone_record:
      case LineShape::csv:
      case LineShape::csv_header:
        break;
    }
    return malformed("line of a format that can't be mixed");
  }

 private:
  static constexpr std::string_view kMarks = "#;!";

  LineOutcome name(std::string_view text, EntryGate& gate) {
    const std::string_view word = without_comment(text, kListMarks);
    if (is_single_word(word)) return malformed("single word in a list of several formats");
    if (begins_with_sink(word)) return malformed("a name glued to the address of a hosts file");
    return names_->line(text, gate);
  }

  std::unique_ptr<LineParser> names_, hosts_, adblock_, dnsmasq_, unbound_, urls_;
};

}  // namespace

std::unique_ptr<LineParser> make_mixed_parser(const ParsePlan& plan) { return std::make_unique<MixedParser>(plan); }

}  // namespace bloomwall::filter
