// Hosts files: an address, then one or more names, each of them the host alone (X; with --hosts-as-suffix S).
//   0.0.0.0 ads.example.com tracker.example.net   # comment
// Whatever the address is, the names are taken: sinks other than 0.0.0.0 and 127.0.0.1 are in use.
// Boilerplate: names that every hosts file carries (localhost, broadcasthost, ip6-allnodes) and other names of one label;
// beside names that are taken they are counted as skipped names.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "filter/lists/address_text.h"
#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"
#include "filter/text.h"

namespace bloomwall::filter {
namespace {

constexpr std::array<std::string_view, 4> kBoilerplateNames{"localhost.localdomain", "localhost4.localdomain4",
                                                            "localhost6.localdomain6", "0.0.0.0"};

bool is_boilerplate(std::string_view name) {
  if (name.find_first_of(".:") == std::string_view::npos) return true;
  return std::any_of(kBoilerplateNames.begin(), kBoilerplateNames.end(),
                     [name](std::string_view known) { return equals_ignoring_case(name, known); });
}

class HostsParser final : public LineParser {
 public:
  explicit HostsParser(const ParsePlan& plan) : kind_(plan.options.hosts_as_suffix ? Kind::suffix : Kind::exact_host) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (is_comment(text, kListMarks)) return {LineClass::comment};
    text = without_comment(text, kListMarks);
    if (!is_address(next_word(text))) return malformed("does not begin with an address");
    std::string_view name = next_word(text);
    if (name.empty()) return malformed("an address without names");
    LineOutcome sum;
    std::size_t skipped = 0;
    for (; !name.empty(); name = next_word(text)) {
      const LineOutcome outcome = is_boilerplate(name) ? LineOutcome{} : gate.host(name, kind_);
      if (!outcome.used()) ++skipped;
      if (outcome.what != LineClass::blank) add_outcome(sum, outcome);
    }
    if (sum.what == LineClass::blank) return {LineClass::boilerplate};
    if (sum.used()) gate.skip_names(skipped);
    return sum;
  }

 private:
  Kind kind_;
};

}  // namespace

std::unique_ptr<LineParser> make_hosts_parser(const ParsePlan& plan) { return std::make_unique<HostsParser>(plan); }

}  // namespace bloomwall::filter
