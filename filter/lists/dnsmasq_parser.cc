// dnsmasq configuration; a domain there means itself and its subdomains (S).
//   address=/a.example/b.example/0.0.0.0    both stopped; whatever the address is, or '#', or nothing
//   server=/a.example/   local=/a.example/  never asked of a server: stopped
// As on the command line ("--address=/a.example/"), in quotes and in capitals, too.
// Unsupported: server=/a.example/192.0.2.53 and server=/a.example/# (who answers for it, not that it is stopped), conf-file= and
// its like (names elsewhere), address=/#/... (every name), *a.example (no boundary of a label), and every other option with a
// name in it (host-record=, cname=, ipset=/a.example/x, a mistyped "addres="). What is left of options is boilerplate.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "filter/lists/address_text.h"
#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_sum.h"

namespace bloomwall::filter {
namespace {

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

// Addresses whose answers are kept from clients: that stops names, and which ones nobody knows.
bool is_of_answers(std::string_view option) {
  return option == "bogus-nxdomain" || option == "ignore-address" || option == "alias";
}

// An option that stops no domain by the rules above: no list has names in it for nothing.
LineOutcome other(std::string_view option, std::string_view value) {
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
  if (name.starts_with('*')) return unsupported("wildcard inside a host");
  if (name.starts_with('.')) name.remove_prefix(1);
  return gate.host(name, Kind::suffix);
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
      return other(option, value);
    }
    if (value.starts_with('/')) return domains(value, address, gate);
    const bool name = address || is_dotted_name(value);
    return name ? malformed("no '/' around the domain") : LineOutcome{LineClass::boilerplate};
  }
};

}  // namespace

std::unique_ptr<LineParser> make_dnsmasq_parser(const ParsePlan& /*plan*/) { return std::make_unique<DnsmasqParser>(); }

}  // namespace bloomwall::filter
