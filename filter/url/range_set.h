// A set of addresses as ranges that are sorted and neither overlap nor touch: exact, whatever is asked.
// What is added together becomes one range: the set says of an address that it is in it, not which line put it there.
// Cost of find(): one binary search, no allocation. Memory: 8 octets a range of IPv4, 32 of IPv6.
// Immutable once made; const calls are thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "filter/url/address.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {

class RangeSet {
 public:
  struct Ipv4Range {
    std::uint32_t first = 0, last = 0;  // both in it; the first octet in the highest byte
    friend auto operator<=>(const Ipv4Range&, const Ipv4Range&) = default;
  };
  struct Ipv6Range {
    std::array<std::uint8_t, 16> first{}, last{};  // both in it, in the order of the network
    friend auto operator<=>(const Ipv6Range&, const Ipv6Range&) = default;
  };

  RangeSet() = default;
  // In any order, overlapping or not. Time: n log n.
  explicit RangeSet(std::span<const AddressRange> ranges);
  RangeSet(std::vector<Ipv4Range> ipv4, std::vector<Ipv6Range> ipv6);

  // The range of this set that holds it.
  std::optional<AddressRange> find(const Address& address) const;
  // Whether one address of the range, at least, is in the set. One binary search.
  bool overlaps(const AddressRange& range) const;

  std::span<const Ipv4Range> ipv4() const { return ipv4_; }
  std::span<const Ipv6Range> ipv6() const { return ipv6_; }
  std::size_t size() const { return ipv4_.size() + ipv6_.size(); }
  bool empty() const { return size() == 0; }
  std::vector<AddressRange> ranges() const;  // IPv4 first, ascending

  friend bool operator==(const RangeSet&, const RangeSet&) = default;

 private:
  std::vector<Ipv4Range> ipv4_;
  std::vector<Ipv6Range> ipv6_;
};

RangeSet united(const RangeSet& a, const RangeSet& b);
// What is in `a` and not in `b`. Linear.
RangeSet without(const RangeSet& a, const RangeSet& b);

}  // namespace bloomwall::filter
