// Hosts files: an address, then one or more names, each of them the host alone (X; with --hosts-as-suffix S).
//   0.0.0.0 ads.example.com tracker.example.net   # comment
//   0.0.0.0 a.example#comment    0.0.0.0 *.b.example (S, with --strict-wildcard W)    0.0.0.0 192.0.2.0/24
// Whatever the address is, the names are taken; where it is no sink (0.0.0.0, loopback, ...), with a warning, since the
// line may mean that the name is to be found there. As a line among others (mixed, adblock) only one with a sink is of
// a hosts file. Boilerplate, behind a sink: names that every hosts file carries (localhost, broadcasthost,
// ip6-allnodes), those of the machine itself (127.0.1.1), and the first label of another name of the line.
// Unsupported, behind a sink: other names of one label. Malformed: these elsewhere, a second address, and all that
// follows a word that is no host ("a.example -> b.example"): where it is beside names that are taken, each word counts
// among the skipped names.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/lists/p2p_range.h"
#include "filter/url/host_text.h"

namespace bloomwall::filter {
namespace {

constexpr std::array<std::string_view, 8> kBoilerplateNames{
    "localhost",  "localhost.localdomain",   "localhost4", "localhost4.localdomain4",
    "localhost6", "localhost6.localdomain6", "local",      "broadcasthost"};
constexpr std::string_view kNoDot = "a name without a dot";
constexpr std::string_view kOwnAddress = "127.0.1.1";  // of the machine's own name, where it has no other

bool is_boilerplate(std::string_view name) {
  if (starts_ignoring_case(name, "ip6-") && name.find('.') == std::string_view::npos) return true;
  return is_one_of(name, kBoilerplateNames);
}

// "nas" of "nas.example.com nas".
bool is_first_label(std::string_view label, std::string_view names) {
  while (!names.empty()) {
    const std::string_view name = next_word(names);
    if (name.size() > label.size() && name[label.size()] == '.' && starts_ignoring_case(name, label)) return true;
  }
  return false;
}

class HostsParser final : public LineParser {
 public:
  explicit HostsParser(const ParsePlan& plan)
      : kind_(plan.options.hosts_as_suffix ? Kind::suffix : Kind::exact_host),
        sinks_alone_(plan.format != Format::hosts) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_comment(text, kListMarks)) return {LineClass::comment};
    text = without_glued_comment(without_comment(text, kListMarks));
    const std::string_view address = next_word(text);
    if (!is_address(address)) return malformed("does not begin with an address");
    if (text.empty()) return malformed("an address without names");
    const bool sink = is_sink(address);
    if (!sink && sinks_alone_) return malformed("an address that is not a sink, followed by text");
    if (sink && is_address(text) && is_sink(text)) return {LineClass::boilerplate};  // "0.0.0.0 0.0.0.0"
    LineSum sum;
    bool no_host = false;
    for (std::string_view names = text; !names.empty();) {
      const std::string_view name = bare_host(next_word(names));
      const LineOutcome outcome =
          no_host ? malformed("after a word that is not a host") : one_name(address, name, text, gate);
      no_host = no_host || outcome.what == LineClass::malformed || outcome.reason == kNoDot;
      sum.add(outcome);
    }
    const LineOutcome outcome = sum.close(gate);
    if (outcome.used() && !sink) gate.warn(kWarnNoSink);
    return outcome;
  }

 private:
  LineOutcome one_name(std::string_view address, std::string_view name, std::string_view names, EntryGate& gate) const {
    const bool sink = is_sink(address);
    if (sink && is_boilerplate(name)) return {LineClass::boilerplate};
    if (!has_dot(name) && name.find(':') == std::string_view::npos) {
      const bool own = address == kOwnAddress || is_first_label(name, names);
      if (own) return {LineClass::boilerplate};
      return sink ? unsupported(kNoDot) : malformed(kNoDot);
    }
    if (is_address(name) && (!sink || is_sink(name))) return malformed("an address behind an address");
    return gate.name(name, kind_);
  }

  Kind kind_;
  bool sinks_alone_;
};

}  // namespace

std::unique_ptr<LineParser> make_hosts_parser(const ParsePlan& plan) { return std::make_unique<HostsParser>(plan); }

// Lists of names, one a line: plain domains, wildcard lists, the file "domains" of a squidGuard category.
//   example.com        domains: S, with --exact X       wildcard: likewise      squidguard: S
//   .example.com       S (squid's dstdomain: the leading dot says "with subdomains")
//   *.example.com      S: publishers of such lists mean the domain too; with --strict-wildcard W
//   192.0.2.1          X       2001:db8::1 or [2001:db8::1]   X
//   192.0.2.0/24   192.0.2.0-192.0.2.9   2001:db8::/32       a range of addresses (address_range.h)
//   example.com:8080   the port goes, with a warning
//   # ; ! //           comment, also after white space; '#' also behind a name with a dot ("a.example#why")
//   192.0.2.0 192.0.2.255 24 ...             the columns of a netblock (line_shape.h)
//   domain, url, ...   boilerplate with a warning: the name of a column
// Unsupported: wildcards elsewhere. Malformed: URLs, several words; in a diff (ParsePlan::is_diff) lines that begin
// with a hyphen, elsewhere names of which the registered label does ("-a.example"): no registry gives such a name.

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
        is_diff_(plan.is_diff) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_comment(text, kListMarks)) return {LineClass::comment};
    text = without_glued_comment(without_comment(text, kListMarks));
    if (is_diff_ && text.starts_with('-')) return malformed("begins with a hyphen, as a line of a diff does");
    if (is_column_name(text)) {
      gate.warn(kWarnHeader);
      return {LineClass::boilerplate};
    }
    return gate.name(text, bare_);
  }

 private:
  Kind bare_;
  bool is_diff_;
};

}  // namespace

std::unique_ptr<LineParser> make_domain_parser(const ParsePlan& plan) { return std::make_unique<DomainParser>(plan); }

// Lists of networks, one a line: Spamhaus DROP and EDROP, FireHOL netsets, what `ipset` and `nft` are fed with. Nothing
// but addresses, so that each line is a range of addresses and is judged by the address that is dialled, a single one
// too.
//   192.0.2.0/24   192.0.2.0-192.0.2.9   2001:db8::/32       as address_range.h reads them
//   192.0.2.1   192.0.2.1/32   2001:db8::1   192.0.2.1:80    a range of one address; a port goes, with a warning
//   192.0.2.0 192.0.2.255 24 ...                             the columns of a netblock (line_shape.h)
//   Some Name:192.0.2.0-192.0.2.255                          a range of PeerGuardian or eMule (p2p_range.h)
//   # ; ! //                                                 comment, also after white space
// Unsupported: ranges wider than a /8 of IPv4 or a /16 of IPv6 unless --allow-wide-ranges. Malformed: everything else.

namespace {

class NetworkParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_comment(text, kListMarks)) return {LineClass::comment};
    // The name in front of a range may hold what begins a comment elsewhere.
    const bool named = read_p2p_range(text).outcome != RangeReading::Outcome::no_range;
    return gate.network(named ? text : without_glued_comment(without_comment(text, kListMarks)));
  }
};

}  // namespace

std::unique_ptr<LineParser> make_network_parser(const ParsePlan& /*plan*/) { return std::make_unique<NetworkParser>(); }

}  // namespace bloomwall::filter
