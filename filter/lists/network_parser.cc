// Lists of networks, one a line: Spamhaus DROP and EDROP, FireHOL netsets, what `ipset` and `nft` are fed with. Nothing but
// addresses, so that each line is a range of addresses and is judged by the address that is dialled, a single one too.
//   192.0.2.0/24   192.0.2.0-192.0.2.9   2001:db8::/32       as address_range.h reads them
//   192.0.2.1   192.0.2.1/32   2001:db8::1                   a range of one address
//   192.0.2.0 192.0.2.255 24 ...                             the columns of a netblock (address_text.h)
//   # ; ! //                                                 comment, also after white space
// Unsupported: ranges wider than a /8 of IPv4 or a /16 of IPv6 unless --allow-wide-ranges. Malformed: everything else.
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/text.h"
#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"

namespace bloomwall::filter {
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
