// SPDX-License-Identifier: Apache-2.0
#include "filter/url/address_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "filter/url/address.h"

namespace bloomwall::filter {
namespace {

using Outcome = RangeReading::Outcome;

std::optional<unsigned> read_small_number(std::string_view text) {
  if (text.empty() || text.size() > 3 || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) value = value * 10 + static_cast<unsigned>(c - '0');
  return value;
}

RangeReading bad(std::string_view reason) { return {.outcome = Outcome::malformed, .reason = reason}; }

// The last address of a network.
IpAddress last_of(const IpNetwork& network) {
  IpAddress last = network.base;
  for (unsigned at = network.prefix; at < 128; ++at) {
    last.octets[at / 8] = static_cast<std::uint8_t>(last.octets[at / 8] | 0x80U >> (at % 8));
  }
  return last;
}

AddressRange everything_like(const AddressRange& range) {
  const IpNetwork all = range.is_v4() ? IpNetwork{IpAddress::v4(0), kIpv4Prefix} : IpNetwork{{}, 0};
  return {all.base, last_of(all)};
}

RangeReading checked(AddressRange range, RangeOf of) {
  const bool same_prefix = range.first.masked(kIpv4Prefix) == range.last.masked(kIpv4Prefix);
  if (of == RangeOf::destinations && same_prefix) range = {range.first.destination(), range.last.destination()};
  if (range == everything_like(range)) {
    return {.outcome = Outcome::unsupported, .reason = "range of every address"};
  }
  return {.outcome = Outcome::range, .range = range};
}

// An address with the bits that its text counts.
struct Written {
  IpAddress address;
  unsigned before = 0;  // bits that are not written: of IPv4
};

std::optional<Written> read_written(std::string_view text) {
  const auto address = IpAddress::parse_host(text);
  if (!address) return std::nullopt;
  return Written{*address, text.find(':') == std::string_view::npos ? kIpv4Prefix : 0};
}

RangeReading with_prefix(const Written& written, unsigned bits, RangeOf of) {
  const unsigned prefix = written.before + bits;
  if (prefix > 128) return bad("prefix longer than the address");
  const IpNetwork network{written.address.masked(prefix), static_cast<std::uint8_t>(prefix)};
  RangeReading reading = checked({network.base, last_of(network)}, of);
  if (network.base == written.address || reading.outcome != Outcome::range) return reading;
  reading.outcome = Outcome::malformed;
  reading.reason = "address range with bits set beyond its prefix";
  reading.has_host_bits = true;
  return reading;
}

RangeReading with_mask(const Written& written, std::uint32_t mask, RangeOf of) {
  const auto ones = static_cast<unsigned>(std::countl_one(mask));
  if (written.before == 0 || std::popcount(mask) != static_cast<int>(ones)) {
    return bad("address range with a mask that is not a prefix");
  }
  return with_prefix(written, ones, of);
}

bool only_of(std::string_view text, std::string_view octets) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_digit(c) || octets.find(to_lower(c)) != std::string_view::npos;
  });
}
bool like_ipv4(std::string_view text) { return only_of(text, "."); }
bool like_ipv6(std::string_view text) {
  return text.find(':') != std::string_view::npos && only_of(text, ".abcdef:[]");
}

// "address/bits" or "address/mask". A longer number, or one that more follows, is the path of a URL.
RangeReading read_slash(std::string_view address, std::string_view rest, RangeOf of) {
  if (!like_ipv4(address) && !like_ipv6(address)) return {};
  const auto prefix = read_small_number(rest);
  const auto mask = like_ipv4(rest) ? IpAddress::parse(rest) : std::nullopt;
  if (!prefix && !mask) return {};
  const auto parsed = read_written(address);
  // "example:80/24" has a port, and no colon more.
  if (!parsed && like_ipv6(address) && std::count(address.begin(), address.end(), ':') < 2) return {};
  if (!parsed) return bad("address range whose address can't be read");
  return prefix ? with_prefix(*parsed, *prefix, of) : with_mask(*parsed, mask->v4_number(), of);
}

// "first-last".
RangeReading read_dash(std::string_view first, std::string_view last, RangeOf of) {
  const auto from = read_written(first);
  if (!from || (!like_ipv4(last) && !like_ipv6(last))) return {};
  const auto to = read_written(last);
  if (!to || from->before != to->before) return bad("address range whose end can't be read");
  if (to->address < from->address) return bad("address range that ends before it begins");
  return checked({from->address, to->address}, of);
}

// "192.0.2.*", "192.0.*.*", "192.0.*": whole octets, one at least, and stars for the others.
RangeReading read_stars(std::string_view text, RangeOf of) {
  constexpr std::size_t kOctets = 4;
  std::string first;
  std::size_t parts = 0, known = 0;
  for (; !text.empty() && parts < kOctets; ++parts) {
    const std::string_view part = next_part(text, '.');
    if (part != "*" && known < parts) return {};
    known += part == "*" ? 0U : 1U;
    first.append(parts == 0 ? "" : ".").append(part == "*" ? "0" : part);
  }
  if (known == 0 || known == parts || !text.empty()) return {};
  for (; parts < kOctets; ++parts) first.append(".0");
  const auto written = read_written(first);
  return written ? with_prefix(*written, static_cast<unsigned>(8 * known), of) : RangeReading{};
}

// The network that is the same; nothing where none is.
std::optional<IpNetwork> network_of(const AddressRange& range) {
  const auto differs = std::ranges::mismatch(range.first.octets, range.last.octets);
  unsigned prefix = 8 * static_cast<unsigned>(differs.in1 - range.first.octets.begin());
  if (prefix < 128)
    prefix += static_cast<unsigned>(std::countl_zero(static_cast<std::uint8_t>(*differs.in1 ^ *differs.in2)));
  const IpNetwork network{range.first.masked(prefix), static_cast<std::uint8_t>(prefix)};
  if (network.base != range.first || last_of(network) != range.last) return std::nullopt;
  return network;
}

}  // namespace

RangeReading read_address_range(std::string_view text, RangeOf of) {
  if (text.empty() || (!is_hex(text.front()) && text.front() != '[' && text.front() != ':')) return {};
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    return read_slash(text.substr(0, slash), text.substr(slash + 1), of);
  }
  if (text.ends_with(".*")) return read_stars(text, of);
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  return read_dash(trim(text.substr(0, dash)), trim(text.substr(dash + 1)), of);
}

std::string text_of(const AddressRange& range) {
  const std::string first = text_of(range.first);
  if (const auto network = network_of(range)) {
    return fmt::format("{}/{}", first, network->prefix - (range.is_v4() ? kIpv4Prefix : 0));
  }
  return fmt::format("{}-{}", first, text_of(range.last));
}

namespace {

using Octets = std::array<std::uint8_t, 16>;
using Ipv4Range = RangeSet::Ipv4Range;
using Ipv6Range = RangeSet::Ipv6Range;

Ipv4Range ipv4_of(const AddressRange& range) {
  return {.first = range.first.v4_number(), .last = range.last.v4_number()};
}
Ipv6Range ipv6_of(const AddressRange& range) { return {.first = range.first.octets, .last = range.last.octets}; }

AddressRange range_of(const Ipv4Range& range) { return {IpAddress::v4(range.first), IpAddress::v4(range.last)}; }
AddressRange range_of(const Ipv6Range& range) { return {IpAddress{range.first}, IpAddress{range.last}}; }

std::uint32_t next(std::uint32_t value) { return value + 1; }
std::uint32_t previous(std::uint32_t value) { return value - 1; }
Octets next(const Octets& ipv6) { return IpAddress{ipv6}.next().octets; }
Octets previous(const Octets& ipv6) { return IpAddress{ipv6}.previous().octets; }

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
    if (range.is_v4()) {
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

std::optional<AddressRange> RangeSet::find(const IpAddress& address) const {
  if (address.is_v4()) return find_in(ipv4_, address.v4_number());
  return find_in(ipv6_, address.octets);
}

bool RangeSet::overlaps(const AddressRange& range) const {
  if (range.is_v4()) return overlaps_in(ipv4_, ipv4_of(range));
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

// The first piece that ends at the address or behind it.
RangeMap::Pieces::const_iterator RangeMap::first_reaching(const Pieces& pieces, const IpAddress& address) {
  const auto behind = pieces.upper_bound(address);
  if (behind == pieces.begin()) return behind;
  const auto before = std::prev(behind);
  return before->second.last < address ? behind : before;
}

void RangeMap::set(const AddressRange& range, std::uint32_t value) {
  Pieces& pieces = pieces_of(range);
  auto at = first_reaching(pieces, range.first);
  while (at != pieces.end() && at->first <= range.last) {
    const IpAddress first = at->first;
    const Piece old = at->second;
    at = pieces.erase(at);
    if (first < range.first) pieces.emplace_hint(at, first, Piece{range.first.previous(), old.value});
    if (range.last < old.last) at = pieces.emplace_hint(at, range.last.next(), old);
  }
  if (value != 0) pieces.emplace_hint(at, range.first, Piece{range.last, value});
}

bool RangeMap::has(const AddressRange& range, std::uint32_t value) const {
  const Pieces& pieces = pieces_of(range);
  auto at = first_reaching(pieces, range.first);
  if (value == 0) return at == pieces.end() || range.last < at->first;
  for (IpAddress wanted = range.first;; wanted = (at++)->second.last.next()) {
    if (at == pieces.end() || wanted < at->first || at->second.value != value) return false;
    if (range.last <= at->second.last) return true;
  }
}

bool RangeMap::touches(const AddressRange& range, std::uint32_t value) const {
  const Pieces& pieces = pieces_of(range);
  for (auto at = first_reaching(pieces, range.first); at != pieces.end() && at->first <= range.last; ++at) {
    if (at->second.value == value) return true;
  }
  return false;
}

RangeSet RangeMap::of(std::uint32_t value) const {
  std::vector<AddressRange> ranges;
  for (const Pieces* const pieces : {&ipv4_, &ipv6_}) {
    for (const auto& [first, piece] : *pieces) {
      if (piece.value == value) ranges.push_back({first, piece.last});
    }
  }
  return RangeSet(ranges);
}

}  // namespace bloomwall::filter
