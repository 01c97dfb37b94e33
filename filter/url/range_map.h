// Ranges of addresses that are given values one after the other: the last word about an address counts, however the ranges
// before it were cut. What deltas are read into.
// Cost of set(): logarithmic, and linear in the pieces that it replaces. Memory: about 100 octets a piece. A call of set()
// makes at most two pieces more. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "filter/url/range_set.h"

namespace bloomwall::filter {

class RangeMap {
 public:
  // Every address of the range has this value from now on; 0 is what an address has that nothing was said about.
  void set(const AddressRange& range, std::uint32_t value);
  // Whether every address of the range has this value.
  bool has(const AddressRange& range, std::uint32_t value) const;
  // Whether one address of the range, at least, has this value, which is not 0.
  bool touches(const AddressRange& range, std::uint32_t value) const;
  RangeSet of(std::uint32_t value) const;
  std::size_t pieces() const { return ipv4_.size() + ipv6_.size(); }

 private:
  using Octets = std::array<std::uint8_t, 16>;
  struct Piece {
    Octets last;
    std::uint32_t value;
  };
  using Pieces = std::map<Octets, Piece>;  // by the first address; disjoint
  Pieces& pieces_of(HostKind kind) { return kind == HostKind::ipv4 ? ipv4_ : ipv6_; }
  const Pieces& pieces_of(HostKind kind) const { return kind == HostKind::ipv4 ? ipv4_ : ipv6_; }
  static Pieces::const_iterator first_reaching(const Pieces& pieces, const Octets& address);

  Pieces ipv4_, ipv6_;
};

}  // namespace bloomwall::filter
