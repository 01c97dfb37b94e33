// dnsmasq configuration; a domain there means itself and its subdomains (S).
//   address=/a.example/b.example/0.0.0.0    both stopped; whatever the address is, or '#', or nothing
//   server=/a.example/   local=/a.example/  never asked of a server: stopped
// As on the command line ("--address=/a.example/"), in quotes and in capitals, too.
// Unsupported: server=/a.example/192.0.2.53 and server=/a.example/# (who answers for it, not that it is stopped),
// conf-file= and its like (names elsewhere), address=/#/... (every name), *a.example (no boundary of a label;
// *.a.example is read as in other lists), and
// every other option with a name in it (host-record=, cname=, ipset=/a.example/x, a mistyped "addres="). What is left
// of options is boilerplate.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {
namespace {

bool is_option_name(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_alpha(c) || is_digit(c) || c == '-'; });
}

// Names that stand elsewhere.
bool is_include(std::string_view option) {
  return option == "conf-file" || option == "conf-dir" || option == "servers-file" || option == "addn-hosts" ||
         option == "hostsdir";
}

// A file, where other options have domains; "/a.example/" and "/a.example/x" after these are domains all the same.
bool is_path(std::string_view option, std::string_view value) {
  const bool domains =
      option == "ipset" || option == "nftset" || option == "rev-server" || option == "rebind-domain-ok";
  const std::string_view last = value.substr(value.rfind('/') + 1);
  return value.starts_with('/') && !domains && !last.empty() && last != "#" && !is_address(last);
}

// Options that suppress answers by address: they block names, but which names is unknown.
bool is_of_answers(std::string_view option) {
  return option == "bogus-nxdomain" || option == "ignore-address" || option == "alias";
}

// An option that stops no domain by the rules above: no list has names in it for nothing.
LineOutcome other_option(std::string_view option, std::string_view value) {
  constexpr std::string_view kNoStop = "option that stops no domain";
  if (is_of_answers(option)) return unsupported(kNoStop);
  if (is_path(option, value)) return {LineClass::boilerplate};
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of("/,"), value.size());
    if (is_dotted_name(trim(value.substr(0, end)))) return unsupported(kNoStop);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return {LineClass::boilerplate};
}

LineOutcome domain(std::string_view name, EntryGate& gate) {
  if (name == "#") return unsupported("every name");
  if (trim(name).size() != name.size()) return malformed("blank beside a domain");
  return gate.name(name, Kind::suffix);
}

// "/a.example/b.example/target": the last part is the target, the others are domains.
LineOutcome domains(std::string_view value, bool may_have_target, EntryGate& gate) {
  value.remove_prefix(1);
  const std::size_t last = value.rfind('/');
  if (last == std::string_view::npos) return malformed("no '/' after the domain");
  const std::string_view target = value.substr(last + 1);
  if (!target.empty() && !may_have_target) return unsupported("server for a domain");
  std::string_view names = value.substr(0, last);
  if (names.empty()) return {LineClass::boilerplate};  // server=// is about names without a dot
  LineSum sum;
  while (!names.empty()) sum.add(domain(next_part(names, '/'), gate));
  const LineOutcome outcome = sum.close(gate);
  if (outcome.used() && is_address(target) && !is_sink(target)) gate.warn(kWarnNoSink);
  return outcome;
}

std::string_view without_quotes(std::string_view text) {
  return text.size() > 1 && text.starts_with('"') && text.ends_with('"') ? text.substr(1, text.size() - 2) : text;
}

class DnsmasqParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (text.front() == '#') return {LineClass::comment};
    text = without_comment(text);
    if (text.starts_with("--")) text.remove_prefix(2);
    const std::string_view option = trim(next_part(text, '='));
    const std::string_view value = without_quotes(trim(text));
    if (!is_option_name(option)) return malformed("not a dnsmasq option");
    const bool address = equals_ignoring_case(option, "address");
    if (is_include(option)) return unsupported("include of another file");
    if (!address && !equals_ignoring_case(option, "server") && !equals_ignoring_case(option, "local")) {
      return other_option(option, value);
    }
    if (value.starts_with('/')) return domains(value, address, gate);
    const bool name = address || is_dotted_name(value);
    return name ? malformed("no '/' around the domain") : LineOutcome{LineClass::boilerplate};
  }
};

}  // namespace

std::unique_ptr<LineParser> make_dnsmasq_parser(const ParsePlan& /*plan*/) { return std::make_unique<DnsmasqParser>(); }

// unbound configuration.
//   local-zone: "a.example." always_nxdomain    S, for the types that stop a zone
//   local-data: "a.example. A 0.0.0.0"          X, for address records
// A line may hold several statements ("server: local-zone: ..."); capitals and blanks before the ':' do not matter.
// Unsupported: types that let a zone through or only log it (transparent, typetransparent, nodefault, inform, ...),
// data of other types, the root, include, what stands in a "view:" (it holds for some clients), other options that
// begin with "local-" and those with a name in them (forward-zone, domain-insecure). What is left of options is
// boilerplate.

namespace {

constexpr std::array<std::string_view, 12> kStopping{
    "always_null", "always_nxdomain", "always_nodata", "always_refuse", "always_deny",     "refuse",
    "deny",        "static",          "redirect",      "inform_deny",   "inform_redirect", "truncate"};
constexpr std::array<std::string_view, 8> kPassing{"transparent",        "typetransparent", "nodefault", "inform",
                                                   "always_transparent", "block_a",         "noview",    "ipset"};

// What begins a part of the configuration and has no value.
constexpr std::array<std::string_view, 13> kClauses{
    "server", "view",     "forward-zone", "stub-zone",      "auth-zone", "rpz",  "python",
    "dynlib", "dnscrypt", "cachedb",      "remote-control", "dnstap",    "ipset"};
constexpr std::array<std::string_view, 7> kWithFiles{"root-hints", "directory", "chroot",  "logfile",
                                                     "pidfile",    "zonefile",  "identity"};

// Takes a word or a quoted text off `rest`. False where a quote is not closed.
bool next_value(std::string_view& rest, std::string_view& value) {
  rest = trim(rest);
  if (rest.empty() || (rest.front() != '"' && rest.front() != '\'')) {
    value = next_word(rest);
    return true;
  }
  const char quote = rest.front();
  rest.remove_prefix(1);
  const std::size_t end = rest.find(quote);
  if (end == std::string_view::npos) return false;
  value = trim(rest.substr(0, end));
  rest.remove_prefix(end + 1);
  return true;
}

LineOutcome zone_host(std::string_view name, Kind kind, EntryGate& gate) {
  if (name == ".") return unsupported("every name");
  return gate.name(name, kind);
}

// "local-zone:" at the start of what is left of a line.
bool begins_statement(std::string_view rest) {
  const std::string_view word = next_word(rest);
  return word.ends_with(':') && is_option_name(word.substr(0, word.size() - 1));
}

// "2001:db8::1", "fe80::/64": no option "2001" with a value.
bool begins_with_address(std::string_view rest) {
  const std::string_view word = next_word(rest);
  return is_address(word) || read_address_range(word).outcome != RangeReading::Outcome::no_range;
}

LineOutcome open_quote(std::string_view& rest) {
  rest = {};
  return malformed("quote is not closed");
}

// These take what belongs to the statement off `rest`.
LineOutcome local_zone(std::string_view& rest, EntryGate& gate) {
  std::string_view name;
  std::string_view type;
  if (!next_value(rest, name) || !next_value(rest, type)) return open_quote(rest);
  if (name.empty() || type.empty()) return malformed("local-zone without a name or a type");
  if (is_one_of(type, kStopping)) return zone_host(name, Kind::suffix, gate);
  if (is_one_of(type, kPassing)) return unsupported("local-zone of a type that stops nothing");
  return unsupported("local-zone of a type this build does not know");
}

bool is_ttl_or_class(std::string_view word) {
  return std::all_of(word.begin(), word.end(), is_digit) || equals_ignoring_case(word, "IN");
}

// name [ttl] [class] type data
LineOutcome local_data(std::string_view& rest, EntryGate& gate) {
  std::string_view record;
  rest = trim(rest);
  const bool quoted = rest.starts_with('"') || rest.starts_with('\'');
  if (quoted && !next_value(rest, record)) return open_quote(rest);
  if (!quoted) record = std::exchange(rest, {});
  const std::string_view name = next_word(record);
  std::string_view type = next_word(record);
  for (int extra = 0; extra < 2 && !type.empty() && is_ttl_or_class(type); ++extra) type = next_word(record);
  if (name.empty() || type.empty()) return malformed("local-data without a name or a type");
  if (!equals_ignoring_case(type, "A") && !equals_ignoring_case(type, "AAAA")) {
    return unsupported("local-data other than addresses");
  }
  const LineOutcome outcome = zone_host(name, Kind::exact_host, gate);
  const std::string_view address = next_word(record);
  if (outcome.used() && is_address(address) && !is_sink(address)) gate.warn(kWarnNoSink);
  return outcome;
}

// The values of an option that stops nothing, up to the next statement.
LineOutcome skip_option(std::string_view option, std::string_view& rest) {
  bool named = starts_ignoring_case(option, "local-");
  const bool files = is_one_of(option, kWithFiles) || option.ends_with("-file");
  while (!rest.empty() && !begins_statement(rest)) {
    std::string_view value;
    if (!next_value(rest, value)) return open_quote(rest);
    rest = trim(rest);
    named = named || (!files && is_dotted_name(value));
  }
  return named ? unsupported("option that stops no zone") : LineOutcome{LineClass::boilerplate};
}

class UnboundParser final : public LineParser {
 public:
  explicit UnboundParser(const ParsePlan& plan) : whole_files_(plan.format == Format::unbound) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (text.front() == '#') return {LineClass::comment};
    LineSum sum;
    for (text = without_comment(text); !text.empty(); text = trim(text)) sum.add(statement(text, gate));
    return sum.close(gate);
  }

 private:
  LineOutcome statement(std::string_view& rest, EntryGate& gate) {
    const std::size_t colon = rest.find(':');
    const std::string_view option = trim(rest.substr(0, colon));
    const bool url = colon != std::string_view::npos && rest.substr(colon + 1).starts_with("//");
    if (colon == std::string_view::npos || url || !is_option_name(option) || begins_with_address(rest)) {
      rest = {};
      return malformed("not an unbound option");
    }
    rest = trim(rest.substr(colon + 1));
    const bool zone = equals_ignoring_case(option, "local-zone");
    if (zone || equals_ignoring_case(option, "local-data")) {
      if (in_view_) {
        rest = {};
        return unsupported("zone of a view, which applies only to some clients");
      }
      return zone ? local_zone(rest, gate) : local_data(rest, gate);
    }
    if (equals_ignoring_case(option, "include") || equals_ignoring_case(option, "include-toplevel")) {
      rest = {};
      return unsupported("include of another file");
    }
    if (!is_one_of(option, kClauses)) return skip_option(option, rest);
    in_view_ = whole_files_ && equals_ignoring_case(option, "view");
    return {LineClass::boilerplate};
  }

  bool whole_files_;      // the lines come in their order, and all of them
  bool in_view_ = false;  // between "view:" and the next clause
};

}  // namespace

std::unique_ptr<LineParser> make_unbound_parser(const ParsePlan& plan) { return std::make_unique<UnboundParser>(plan); }

}  // namespace bloomwall::filter
