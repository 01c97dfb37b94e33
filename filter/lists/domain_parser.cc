// Lists of names, one a line: plain domains, wildcard lists, the file "domains" of a squidGuard category.
//   example.com        domains: S, with --exact X       wildcard: likewise      squidguard: S
//   .example.com       S (squid's dstdomain: the leading dot says "with subdomains")
//   *.example.com      S: publishers of such lists mean the domain too; with --strict-wildcard W
//   192.0.2.1          X       2001:db8::1 or [2001:db8::1]   X
//   192.0.2.0/24   192.0.2.0-192.0.2.9   2001:db8::/32       a range of addresses (address_range.h)
//   # ; ! //           comment, also after white space
//   192.0.2.0 192.0.2.255 24 ...             the columns of a netblock (line_shape.h)
//   domain, url, ...   boilerplate with a warning: the name of a column
// Unsupported: wildcards elsewhere, hosts with a port. Malformed: URLs, several words, a hyphen in front ("-a.example"
// is the line of a diff).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"

namespace bloomwall::filter {
namespace {

bool is_column_name(std::string_view word) {
  constexpr std::array<std::string_view, 12> kNames{"domain",  "domains", "domain_name", "host", "hosts", "hostname",
                                                    "address", "url",     "urls",        "fqdn", "ip",    "indicator"};
  return is_one_of(word, kNames);
}

class DomainParser final : public LineParser {
 public:
  explicit DomainParser(const ParsePlan& plan)
      : bare_(plan.options.exact && plan.format != Format::squidguard_domains ? Kind::exact_host : Kind::suffix),
        starred_(plan.options.strict_wildcard ? Kind::subdomains : Kind::suffix) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_comment(text, kListMarks)) return {LineClass::comment};
    text = without_comment(text, kListMarks);
    if (text.starts_with("*.")) return gate.host(text.substr(2), starred_);
    if (text.starts_with('.')) return gate.host(text.substr(1), Kind::suffix);
    if (text.starts_with('-')) return malformed("begins with a hyphen, as a line of a diff does");
    if (is_column_name(text)) {
      gate.warn(kWarnHeader);
      return {LineClass::boilerplate};
    }
    return gate.host(text, bare_);
  }

 private:
  Kind bare_;
  Kind starred_;
};

}  // namespace

std::unique_ptr<LineParser> make_domain_parser(const ParsePlan& plan) { return std::make_unique<DomainParser>(plan); }

// Lists of networks, one a line: Spamhaus DROP and EDROP, FireHOL netsets, what `ipset` and `nft` are fed with. Nothing
// but addresses, so that each line is a range of addresses and is judged by the address that is dialled, a single one
// too.
//   192.0.2.0/24   192.0.2.0-192.0.2.9   2001:db8::/32       as address_range.h reads them
//   192.0.2.1   192.0.2.1/32   2001:db8::1                   a range of one address
//   192.0.2.0 192.0.2.255 24 ...                             the columns of a netblock (line_shape.h)
//   # ; ! //                                                 comment, also after white space
// Unsupported: ranges wider than a /8 of IPv4 or a /16 of IPv6 unless --allow-wide-ranges. Malformed: everything else.

namespace {

class NetworkParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_comment(text, kListMarks)) return {LineClass::comment};
    return gate.network(without_comment(text, kListMarks));
  }
};

}  // namespace

std::unique_ptr<LineParser> make_network_parser(const ParsePlan& /*plan*/) { return std::make_unique<NetworkParser>(); }

}  // namespace bloomwall::filter
