// SPDX-License-Identifier: Apache-2.0
#include "filter/url/range_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bloomwall::filter {
namespace {

using Octets = std::array<std::uint8_t, 16>;
using Ipv4Range = RangeSet::Ipv4Range;
using Ipv6Range = RangeSet::Ipv6Range;

Ipv4Range ipv4_of(const AddressRange& range) {
  return {.first = filter::ipv4_of(range.begin()), .last = filter::ipv4_of({range.kind, range.last})};
}
Ipv6Range ipv6_of(const AddressRange& range) { return {.first = range.first, .last = range.last}; }

AddressRange range_of(const Ipv4Range& range) {
  return {.kind = HostKind::ipv4, .first = address_of(range.first).octets, .last = address_of(range.last).octets};
}
AddressRange range_of(const Ipv6Range& range) {
  return {.kind = HostKind::ipv6, .first = range.first, .last = range.last};
}

std::uint32_t next(std::uint32_t value) { return value + 1; }
std::uint32_t previous(std::uint32_t value) { return value - 1; }
Octets next(const Octets& ipv6) { return filter::next(Address{HostKind::ipv6, ipv6}).octets; }
Octets previous(const Octets& ipv6) { return filter::previous(Address{HostKind::ipv6, ipv6}).octets; }

// Sorted, and what overlaps or touches is one range.
template <typename Range>
void normalise(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::size_t kept = 0;
  for (const Range& range : ranges) {
    if (kept != 0 && (range.first <= ranges[kept - 1].last || range.first == next(ranges[kept - 1].last))) {
      ranges[kept - 1].last = std::max(ranges[kept - 1].last, range.last);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

// The first range that ends at `value` or behind it.
template <typename Range, typename Value>
auto first_reaching(const std::vector<Range>& ranges, const Value& value) {
  return std::partition_point(ranges.begin(), ranges.end(), [&](const Range& range) { return range.last < value; });
}

template <typename Range, typename Value>
std::optional<AddressRange> find_in(const std::vector<Range>& ranges, const Value& value) {
  const auto at = first_reaching(ranges, value);
  if (at == ranges.end() || value < at->first) return std::nullopt;
  return range_of(*at);
}

template <typename Range>
bool overlaps_in(const std::vector<Range>& ranges, const Range& wanted) {
  const auto at = first_reaching(ranges, wanted.first);
  return at != ranges.end() && at->first <= wanted.last;
}

template <typename Range>
std::vector<Range> difference(std::span<const Range> from, std::span<const Range> taken) {
  std::vector<Range> left;
  auto hole = taken.begin();
  for (Range rest : from) {
    bool is_used_up = false;
    while (hole != taken.end() && hole->last < rest.first) ++hole;
    // A hole that reaches beyond this range may begin the next one as well, so it is not stepped over.
    for (auto at = hole; at != taken.end() && at->first <= rest.last; ++at) {
      if (rest.first < at->first) left.push_back({.first = rest.first, .last = previous(at->first)});
      is_used_up = rest.last <= at->last;
      if (is_used_up) break;
      rest.first = next(at->last);
      hole = at;
    }
    if (!is_used_up) left.push_back(rest);
  }
  return left;
}

template <typename Range>
std::vector<Range> joined(std::span<const Range> a, std::span<const Range> b) {
  std::vector<Range> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace

RangeSet::RangeSet(std::span<const AddressRange> ranges) {
  for (const AddressRange& range : ranges) {
    if (range.kind == HostKind::ipv4) {
      ipv4_.push_back(ipv4_of(range));
    } else {
      ipv6_.push_back(ipv6_of(range));
    }
  }
  normalise(ipv4_);
  normalise(ipv6_);
}

RangeSet::RangeSet(std::vector<Ipv4Range> ipv4, std::vector<Ipv6Range> ipv6)
    : ipv4_(std::move(ipv4)), ipv6_(std::move(ipv6)) {
  normalise(ipv4_);
  normalise(ipv6_);
}

std::optional<AddressRange> RangeSet::find(const Address& address) const {
  if (address.kind == HostKind::ipv4) return find_in(ipv4_, filter::ipv4_of(address));
  return find_in(ipv6_, address.octets);
}

bool RangeSet::overlaps(const AddressRange& range) const {
  if (range.kind == HostKind::ipv4) return overlaps_in(ipv4_, ipv4_of(range));
  return overlaps_in(ipv6_, ipv6_of(range));
}

std::vector<AddressRange> RangeSet::ranges() const {
  std::vector<AddressRange> all;
  all.reserve(size());
  for (const Ipv4Range& range : ipv4_) all.push_back(range_of(range));
  for (const Ipv6Range& range : ipv6_) all.push_back(range_of(range));
  return all;
}

RangeSet united(const RangeSet& a, const RangeSet& b) {
  return {joined(a.ipv4(), b.ipv4()), joined(a.ipv6(), b.ipv6())};
}

RangeSet without(const RangeSet& a, const RangeSet& b) {
  return {difference(a.ipv4(), b.ipv4()), difference(a.ipv6(), b.ipv6())};
}

}  // namespace bloomwall::filter
