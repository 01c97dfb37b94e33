// SPDX-License-Identifier: Apache-2.0
#include "filter/url/range_map.h"

#include <iterator>
#include <vector>

namespace bloomwall::filter {

// The first piece that ends at the address or behind it.
RangeMap::Pieces::const_iterator RangeMap::first_reaching(const Pieces& pieces, const Octets& address) {
  const auto behind = pieces.upper_bound(address);
  if (behind == pieces.begin()) return behind;
  const auto before = std::prev(behind);
  return before->second.last < address ? behind : before;
}

void RangeMap::set(const AddressRange& range, std::uint32_t value) {
  Pieces& pieces = pieces_of(range.kind);
  auto at = first_reaching(pieces, range.first);
  while (at != pieces.end() && at->first <= range.last) {
    const Octets first = at->first;
    const Piece old = at->second;
    at = pieces.erase(at);
    if (first < range.first)
      pieces.emplace_hint(at, first, Piece{previous({range.kind, range.first}).octets, old.value});
    if (range.last < old.last) at = pieces.emplace_hint(at, next({range.kind, range.last}).octets, old);
  }
  if (value != 0) pieces.emplace_hint(at, range.first, Piece{range.last, value});
}

bool RangeMap::has(const AddressRange& range, std::uint32_t value) const {
  const Pieces& pieces = pieces_of(range.kind);
  auto at = first_reaching(pieces, range.first);
  if (value == 0) return at == pieces.end() || range.last < at->first;
  for (Octets wanted = range.first;; wanted = next({range.kind, (at++)->second.last}).octets) {
    if (at == pieces.end() || wanted < at->first || at->second.value != value) return false;
    if (range.last <= at->second.last) return true;
  }
}

bool RangeMap::touches(const AddressRange& range, std::uint32_t value) const {
  const Pieces& pieces = pieces_of(range.kind);
  for (auto at = first_reaching(pieces, range.first); at != pieces.end() && at->first <= range.last; ++at) {
    if (at->second.value == value) return true;
  }
  return false;
}

RangeSet RangeMap::of(std::uint32_t value) const {
  std::vector<AddressRange> ranges;
  for (const HostKind kind : {HostKind::ipv4, HostKind::ipv6}) {
    for (const auto& [first, piece] : pieces_of(kind)) {
      if (piece.value == value) ranges.push_back({.kind = kind, .first = first, .last = piece.last});
    }
  }
  return RangeSet(ranges);
}

}  // namespace bloomwall::filter
