// Lists of URLs, and the files "urls" and "expressions" of a squidGuard category.
//   urls              http://example.com/a?q   that URL (U, Q, D or, for a bare host, S), as any list entry means it;
//                     without a scheme likewise; a line that is a bare name is read as in a list of names
//   squidguard_urls   example.com/dir          a prefix at the boundary of a path segment: U and D. squidGuard compares
//                     without a leading "www.", so that of an entry is taken off where more than a public suffix is left;
//                     subdomains are covered anyhow
//   squidguard_expressions                     regular expressions: all unsupported
// Malformed: what url_text.h finds beside a URL: columns, markup, another URL. "&amp;" is taken as it stands and as '&'.
// '#', ';' and '!' at the start or after white space start a comment; a '#' within a URL is its fragment. A range of
// addresses ("192.0.2.0/24") is one here too, and never a host with a path.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/url_text.h"
#include "filter/url/public_suffix.h"

namespace bloomwall::filter {
namespace {

constexpr std::string_view kMarks = "#;!";  // of comments; "//" would begin a URL without its scheme
constexpr std::string_view kOtherScheme = "scheme other than http, https, ftp, ws";

bool is_known_scheme(std::string_view scheme) {
  constexpr std::array<std::string_view, 5> kKnown{"http", "https", "ftp", "ws", "wss"};
  return is_one_of(scheme, kKnown);
}

class UrlParser final : public LineParser {
 public:
  explicit UrlParser(const ParsePlan& plan) : names_(make_domain_parser(plan)) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    if (is_bare_url(text)) return gate.bare_url(text);
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_comment(text, kMarks)) return {LineClass::comment};
    text = without_comment(text, kMarks);
    const std::string_view scheme = scheme_of(text);
    if (!scheme.empty() && !is_known_scheme(scheme)) return unsupported(kOtherScheme);
    if (scheme.empty() && text.find_first_of("/?") == std::string_view::npos) return names_->line(text, gate);
    if (const std::string_view fault = fault_in_url_line(text); !fault.empty()) return malformed(fault);
    return take_url(text, UrlPlace::line, gate);
  }

 private:
  std::unique_ptr<LineParser> names_;
};

std::string_view without_www(std::string_view url) {
  constexpr std::string_view kWww = "www.";
  if (!starts_ignoring_case(url, kWww)) return url;
  const std::string_view rest = url.substr(kWww.size());
  const std::string_view host = rest.substr(0, rest.find_first_of("/:?"));
  const bool enough = host.find('.') != std::string_view::npos && !is_public_suffix(host);
  return enough ? rest : url;
}

class SquidguardUrlParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_comment(text, kMarks)) return {LineClass::comment};
    text = without_comment(text, kMarks);
    const std::string_view scheme = scheme_of(text);
    if (!scheme.empty() && !is_known_scheme(scheme)) return unsupported(kOtherScheme);
    if (const std::string_view fault = fault_in_url_line(text); !fault.empty()) return malformed(fault);
    // "http://192.0.2.1/24" is a URL, "192.0.2.1/24" is a range: the scheme goes with the "www." only.
    const std::string_view bare = scheme.empty() ? text : text.substr(scheme.size() + 3);
    const std::string_view url = without_www(bare);
    const bool stripped = url.size() != bare.size();
    const LineOutcome outcome = gate.url_prefix(stripped ? url : text);
    if (outcome.used() && stripped) gate.warn(kWarnWwwStripped);
    return outcome;
  }
};

class ExpressionParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& /*gate*/) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (text.front() == '#') return {LineClass::comment};
    return unsupported("regular expression");
  }
};

}  // namespace

std::unique_ptr<LineParser> make_url_parser(const ParsePlan& plan) {
  if (plan.format == Format::squidguard_urls) return std::make_unique<SquidguardUrlParser>();
  if (plan.format == Format::squidguard_expressions) return std::make_unique<ExpressionParser>();
  return std::make_unique<UrlParser>(plan);
}

}  // namespace bloomwall::filter
