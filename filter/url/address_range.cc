// SPDX-License-Identifier: Apache-2.0
#include "filter/url/address_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>

#include "base/text.h"
#include "filter/url/ipv4.h"

namespace bloomwall::filter {
namespace {

using Outcome = RangeReading::Outcome;
using Octets = std::array<std::uint8_t, 16>;

constexpr unsigned bits_of(HostKind kind) { return kind == HostKind::ipv4 ? 32 : 128; }

std::optional<unsigned> read_small_number(std::string_view text) {
  if (text.empty() || text.size() > 3 || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) value = value * 10 + static_cast<unsigned>(c - '0');
  return value;
}

bool bit(const Octets& octets, unsigned at) { return ((octets[at / 8] >> (7 - at % 8)) & 1) != 0; }

RangeReading bad(std::string_view reason) { return {.outcome = Outcome::malformed, .reason = reason}; }

// IPv4 addresses are judged as such wherever they are embedded.
RangeReading checked(AddressRange range) {
  if (range.kind == HostKind::ipv6) {
    const Address first = address_of(range.first);
    const Address last = address_of(range.last);
    const bool same_prefix = std::equal(range.first.begin(), range.first.begin() + 12, range.last.begin());
    if (first.kind == HostKind::ipv4 && same_prefix) range = {first.kind, first.octets, last.octets};
  }
  Octets zero{};
  Octets all{};
  std::fill_n(all.begin(), bits_of(range.kind) / 8, std::uint8_t{0xff});
  if (range.first == zero && range.last == all) {
    return {.outcome = Outcome::unsupported, .reason = "range of every address"};
  }
  return {.outcome = Outcome::range, .range = range};
}

RangeReading with_prefix(const Address& address, unsigned prefix) {
  if (prefix > bits_of(address.kind)) return bad("prefix longer than the address");
  AddressRange range{address.kind, address.octets, address.octets};
  for (unsigned at = prefix; at < bits_of(address.kind); ++at) {
    if (bit(address.octets, at)) return bad("address range with bits set beyond its prefix");
    range.last[at / 8] = static_cast<std::uint8_t>(range.last[at / 8] | (0x80U >> (at % 8)));
  }
  return checked(range);
}

RangeReading with_mask(const Address& address, std::uint32_t mask) {
  const auto ones = static_cast<unsigned>(std::countl_one(mask));
  if (address.kind != HostKind::ipv4 || std::popcount(mask) != static_cast<int>(ones)) {
    return bad("address range with a mask that is no prefix");
  }
  return with_prefix(address, ones);
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
RangeReading read_slash(std::string_view address, std::string_view rest) {
  if (!like_ipv4(address) && !like_ipv6(address)) return {};
  const auto prefix = read_small_number(rest);
  const auto mask = read_dotted_ipv4(rest);
  if (!prefix && !mask) return {};
  const auto parsed = read_address_as_written(address);
  // "example:80/24" has a port, and no colon more.
  if (!parsed && like_ipv6(address) && std::count(address.begin(), address.end(), ':') < 2) return {};
  if (!parsed) return bad("address range whose address can't be read");
  return prefix ? with_prefix(*parsed, *prefix) : with_mask(*parsed, *mask);
}

// "first-last".
RangeReading read_dash(std::string_view first, std::string_view last) {
  const auto from = read_address_as_written(first);
  if (!from || (!like_ipv4(last) && !like_ipv6(last))) return {};
  const auto to = read_address_as_written(last);
  if (!to || from->kind != to->kind) return bad("address range whose end can't be read");
  if (to->octets < from->octets) return bad("address range that ends before it begins");
  return checked({from->kind, from->octets, to->octets});
}

// The prefix length that says the same; nothing where none does.
std::optional<unsigned> prefix_of(const AddressRange& range) {
  const unsigned bits = bits_of(range.kind);
  unsigned prefix = 0;
  while (prefix < bits && bit(range.first, prefix) == bit(range.last, prefix)) ++prefix;
  for (unsigned at = prefix; at < bits; ++at) {
    if (bit(range.first, at) || !bit(range.last, at)) return std::nullopt;
  }
  return prefix;
}

}  // namespace

RangeReading read_address_range(std::string_view text) {
  if (text.empty() || (!is_hex(text.front()) && text.front() != '[' && text.front() != ':')) return {};
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    return read_slash(text.substr(0, slash), text.substr(slash + 1));
  }
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  return read_dash(trim(text.substr(0, dash)), trim(text.substr(dash + 1)));
}

std::string text_of(const AddressRange& range) {
  const std::string first = text_of(range.begin());
  if (const auto prefix = prefix_of(range)) return fmt::format("{}/{}", first, *prefix);
  return fmt::format("{}-{}", first, text_of(Address{range.kind, range.last}));
}

}  // namespace bloomwall::filter
