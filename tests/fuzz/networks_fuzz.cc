// Section `networks` from anywhere: what is taken is in order, comes back the same, and holds its ends and nothing
// beside them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <span>

#include "filter/file/networks.h"
#include "tests/fuzz/require.h"

namespace {

using namespace bloomwall::filter;

using bloomwall::IpAddress;
using bloomwall::fuzz::require;

// The ends are in it, and their neighbours of the same family are not. A file may write IPv4 among the ranges of IPv6,
// where nobody asks for it.
void ask(const RangeSet& networks, const IpAddress& first, const IpAddress& last) {
  for (const IpAddress& end : {first, last}) {
    const auto found = networks.find(end);
    require(found && found->first == first && found->last == last);
  }
  const IpAddress before = first.previous(), behind = last.next();
  if (before < first && before.is_v4() == first.is_v4()) require(!networks.find(before));
  if (last < behind && behind.is_v4() == last.is_v4()) require(!networks.find(behind));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto parsed = parse_networks(bytes);
  if (!parsed) {
    require(parsed.error().code == Errc::bad_section && !parsed.error().what.empty());
    return 0;
  }
  const auto again = serialise_networks(*parsed);
  require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  for (const RangeSet::Ipv4Range& range : parsed->ipv4()) {
    ask(*parsed, IpAddress::v4(range.first), IpAddress::v4(range.last));
  }
  for (const RangeSet::Ipv6Range& range : parsed->ipv6()) {
    const IpAddress first{range.first}, last{range.last};
    if (!first.is_v4() && !last.is_v4()) ask(*parsed, first, last);
  }
  return 0;
}
