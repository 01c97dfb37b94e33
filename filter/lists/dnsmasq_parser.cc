// dnsmasq configuration; a domain there means itself and its subdomains (S).
//   address=/a.example/b.example/0.0.0.0    both stopped; whatever the address is, or '#', or nothing
//   server=/a.example/   local=/a.example/  never asked of a server: stopped
// Unsupported: server=/a.example/192.0.2.53 and server=/a.example/# (who answers for it, not that it is stopped),
// ipset=/a.example/x, conf-file= and its like (names elsewhere), address=/#/... (every name), *a.example (no boundary of a label). Every other option is boilerplate.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"
#include "filter/text.h"

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

// "log-facility=/var/log/x", "dhcp-leasefile=/x": a file, where other options have domains ("ipset=/a.example/x").
bool is_path_option(std::string_view option) {
  return option != "ipset" && option != "nftset" && option != "rev-server" && option != "rebind-domain-ok";
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
  LineOutcome sum;
  std::size_t skipped = 0;
  while (!names.empty()) {
    const LineOutcome outcome = domain(next_part(names, '/'), gate);
    if (!outcome.used()) ++skipped;
    add_outcome(sum, outcome);
  }
  if (sum.used()) gate.skip_names(skipped);
  return sum;
}

class DnsmasqParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (text.front() == '#') return {LineClass::comment};
    text = without_comment(text);
    const std::string_view option = trim(next_part(text, '='));
    const std::string_view value = trim(text);
    if (!is_option_name(option)) return malformed("not a dnsmasq option");
    const bool address = option == "address";
    if (is_include(option)) return unsupported("include of another file");
    if (!address && option != "server" && option != "local") {
      return value.starts_with('/') && !is_path_option(option) ? unsupported("option that stops no domain")
                                                               : LineOutcome{LineClass::boilerplate};
    }
    if (value.starts_with('/')) return domains(value, address, gate);
    return address ? malformed("address= without a domain") : LineOutcome{LineClass::boilerplate};
  }
};

}  // namespace

std::unique_ptr<LineParser> make_dnsmasq_parser(const ParsePlan& /*plan*/) { return std::make_unique<DnsmasqParser>(); }

}  // namespace bloomwall::filter
