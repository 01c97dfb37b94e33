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

using bloomwall::fuzz::require;

// The address before or behind; nothing beyond the first and the last one.
bool step(IpAddress& address, std::size_t octets, bool up) {
  for (std::size_t i = octets; i-- > 0;) {
    std::uint8_t& octet = address.octets[i];
    octet = static_cast<std::uint8_t>(up ? octet + 1 : octet - 1);
    if (octet != (up ? 0 : 0xff)) return true;
  }
  return false;
}

void ask(const RangeSet& networks, IpAddress first, IpAddress last, std::size_t octets) {
  for (const IpAddress& end : {first, last}) {
    const auto found = networks.find(end);
    require(found && found->begin() == first && found->last == last.octets);
  }
  if (step(first, octets, false)) require(!networks.find(first));
  if (step(last, octets, true)) require(!networks.find(last));
}

IpAddress ipv4(std::uint32_t value) {
  IpAddress out;
  for (std::size_t i = 0; i < 4; ++i) out.octets[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  return out;
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
  for (const RangeSet::Ipv4Range& range : parsed->ipv4()) ask(*parsed, ipv4(range.first), ipv4(range.last), 4);
  for (const RangeSet::Ipv6Range& range : parsed->ipv6()) {
    ask(*parsed, {HostKind::ipv6, range.first}, {HostKind::ipv6, range.last}, 16);
  }
  return 0;
}
