// Ranges of addresses as lists of networks write them (Spamhaus DROP, FireHOL netsets, squid and ipset files):
//   1.10.16.0/20   1.10.16.0/255.255.240.0   1.10.16.0-1.10.31.255
//   2001:db8::/32   [2001:db8::]/32   2001:db8::1 - 2001:db8::ff   1.10.16.*   1.10.*.*   1.10.*
// What looks like one and can't be read is malformed, never a host or a URL: bits set beyond the prefix (the line may
// mean the address alone or the network around it; `has_host_bits`), a prefix over the address, a mask with gaps, an
// end before its beginning, octets with leading zeros, shortened forms ("10/8", "10.0.0.1-9"). A range of every address
// is unsupported.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/url/address.h"

namespace bloomwall::filter {

// From `first` to `last`, both inclusive. A range of IPv6 holds no IPv4 address, however that is embedded.
struct AddressRange {
  IpAddress first, last;
  bool is_v4() const { return first.is_v4() && last.is_v4(); }
  bool is_one_address() const { return first == last; }
  bool contains(const IpAddress& address) const {
    return address.is_v4() == is_v4() && first <= address && address <= last;
  }
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};
// "1.10.16.0/20", "[2001:db8::]/32", or "a-b" where no prefix says it.
std::string text_of(const AddressRange& range);
inline AddressRange range_of(const IpAddress& address) { return {address, address}; }

// Of destinations, 64:ff9b::/96 is IPv4 (IpAddress::destination()); of clients it is not.
enum class RangeOf : std::uint8_t { destinations, clients };

struct RangeReading {
  enum class Outcome : std::uint8_t { no_range, range, malformed, unsupported };
  Outcome outcome = Outcome::no_range;
  std::string_view reason = {};  // of malformed and unsupported; static storage
  AddressRange range = {};
  // Malformed for this reason alone: "192.0.2.77/24". `range` is the network around the address, which a list means;
  // where a person is asked for a range it stays an error.
  bool has_host_bits = false;
};
// `text`: trimmed, without a comment. Constant time for what does not begin like an address.
RangeReading read_address_range(std::string_view text, RangeOf of = RangeOf::destinations);

// A set of addresses, exact, as ranges that are sorted and neither overlap nor touch. Ranges that touch are joined: the
// set does not know which line an address came from.
// Cost of find(): one binary search, no allocation. Memory: 8 octets a range of IPv4, 32 of IPv6.
// Immutable once made; const calls are thread-safe.
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
  std::optional<AddressRange> find(const IpAddress& address) const;
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

// Values of ranges of addresses: the last value that was set for an address counts, however ranges overlap. Deltas are
// read into it.
// Cost of set(): logarithmic, and linear in the pieces that it replaces. Memory: about 100 octets a piece. A call of
// set() makes at most two pieces more. Not thread-safe.
class RangeMap {
 public:
  // Gives every address of the range this value. Addresses that were never set have 0.
  void set(const AddressRange& range, std::uint32_t value);
  // Whether every address of the range has this value.
  bool has(const AddressRange& range, std::uint32_t value) const;
  // Whether one address of the range, at least, has this value, which is not 0.
  bool touches(const AddressRange& range, std::uint32_t value) const;
  RangeSet of(std::uint32_t value) const;
  std::size_t pieces() const { return ipv4_.size() + ipv6_.size(); }

 private:
  struct Piece {
    IpAddress last;
    std::uint32_t value;
  };
  using Pieces = std::map<IpAddress, Piece>;  // by the first address; disjoint
  Pieces& pieces_of(const AddressRange& range) { return range.is_v4() ? ipv4_ : ipv6_; }
  const Pieces& pieces_of(const AddressRange& range) const { return range.is_v4() ? ipv4_ : ipv6_; }
  static Pieces::const_iterator first_reaching(const Pieces& pieces, const IpAddress& address);

  Pieces ipv4_, ipv6_;
};

}  // namespace bloomwall::filter
