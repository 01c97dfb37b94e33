// Ranges of addresses as lists of networks write them (Spamhaus DROP, FireHOL netsets, squid and ipset files):
//   1.10.16.0/20   2001:db8::/32   [2001:db8::]/32   1.10.16.0/255.255.240.0   1.10.16.0-1.10.31.255   2001:db8::1 - 2001:db8::ff
// What looks like one and can't be read is malformed, never a host or a URL: bits set beyond the prefix (the line may mean
// the address alone or the network around it), a prefix over the address, a mask with gaps, an end before its beginning,
// octets with leading zeros, shortened forms ("10/8", "10.0.0.1-9"). A range of every address is unsupported.
// IPv4 addresses inside IPv6 are ranges of IPv4 (address.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "filter/url/address.h"

namespace bloomwall::filter {

// From `first` to `last`, both in it, in the order of the network; of IPv4 the first four octets count, the others are 0.
struct AddressRange {
  HostKind kind = HostKind::ipv4;  // ipv4 or ipv6
  std::array<std::uint8_t, 16> first{};
  std::array<std::uint8_t, 16> last{};
  bool is_one_address() const { return first == last; }
  Address begin() const { return {kind, first}; }
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};
// "1.10.16.0/20", "[2001:db8::]/32", or "a-b" where no prefix says it.
std::string text_of(const AddressRange& range);
inline AddressRange range_of(const Address& address) { return {address.kind, address.octets, address.octets}; }

struct RangeReading {
  enum class Outcome : std::uint8_t { no_range, range, malformed, unsupported };
  Outcome outcome = Outcome::no_range;
  std::string_view reason = {};  // of malformed and unsupported; static storage
  AddressRange range = {};
};
// `text`: trimmed, without a comment. Constant time for what does not begin like an address.
RangeReading read_address_range(std::string_view text);

}  // namespace bloomwall::filter
