// SPDX-License-Identifier: Apache-2.0
#include "filter/file/networks.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "filter/file/header_bytes.h"

namespace bloomwall::filter {
namespace {

static_assert(sizeof(RangeSet::Ipv4Range) == kIpv4RangeBytes && sizeof(RangeSet::Ipv6Range) == kIpv6RangeBytes);
static_assert(std::is_trivially_copyable_v<RangeSet::Ipv4Range> && std::is_trivially_copyable_v<RangeSet::Ipv6Range>);

constexpr std::array<char, 4> kNetworksMagic{'B', 'W', 'N', '1'};

template <typename T>
void append_all(std::vector<std::byte>& out, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

tl::unexpected<Error> bad_networks(std::string what) {
  return unexpected(Error{Errc::bad_section, "networks", std::move(what) + "; fetch or build the file again"});
}

std::uint32_t in_front_of(std::uint32_t ipv4) { return ipv4 - 1; }
std::array<std::uint8_t, 16> in_front_of(const std::array<std::uint8_t, 16>& ipv6) {
  return IpAddress{ipv6}.previous().octets;
}

// Whether `next` begins behind the address that follows `before`.
template <typename Range>
bool leaves_a_gap(const Range& before, const Range& next) {
  return before.last < next.first && before.last != in_front_of(next.first);
}

template <typename Range>
Result<std::vector<Range>> read_ranges(std::span<const std::byte> bytes, const char* kind) {
  std::vector<Range> out(bytes.size() / sizeof(Range));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].last < out[i].first) return bad_networks(fmt::format("{} range {} ends before it begins", kind, i));
    if (i > 0 && !leaves_a_gap(out[i - 1], out[i])) {
      return bad_networks(fmt::format("{} range {} is out of order, overlaps or touches the one before it", kind, i));
    }
  }
  return out;
}

}  // namespace

Result<RangeSet> parse_networks(std::span<const std::byte> section) {
  if (section.size() < kNetworksHeaderBytes) return bad_networks("too short");
  std::span<const std::byte> ranges = section;
  if (take<std::array<char, 4>>(ranges) != kNetworksMagic) return bad_networks("not a section of networks");
  const std::uint64_t ipv4 = take<std::uint32_t>(ranges);
  const std::uint64_t ipv6 = take<std::uint32_t>(ranges);
  if (take<std::uint32_t>(ranges) != 0) return bad_networks("reserved bytes are not zero");
  if (ipv4 + ipv6 == 0 || ipv4 + ipv6 > kMaxNetworks) return bad_networks(fmt::format("{} ranges", ipv4 + ipv6));
  if (ranges.size() != ipv4 * kIpv4RangeBytes + ipv6 * kIpv6RangeBytes) {
    return bad_networks(fmt::format("{} ranges of IPv4 and {} of IPv6 in {} bytes", ipv4, ipv6, section.size()));
  }
  auto four = read_ranges<RangeSet::Ipv4Range>(ranges.first(ipv4 * kIpv4RangeBytes), "IPv4");
  if (!four) return unexpected(std::move(four).error());
  auto six = read_ranges<RangeSet::Ipv6Range>(ranges.subspan(ipv4 * kIpv4RangeBytes), "IPv6");
  if (!six) return unexpected(std::move(six).error());
  return RangeSet(*std::move(four), *std::move(six));
}

std::uint64_t networks_bytes(const RangeSet& networks) {
  if (networks.empty()) return 0;
  return kNetworksHeaderBytes + networks.ipv4().size() * kIpv4RangeBytes + networks.ipv6().size() * kIpv6RangeBytes;
}

std::vector<std::byte> serialise_networks(const RangeSet& networks) {
  std::vector<std::byte> out;
  if (networks.empty()) return out;
  out.reserve(networks_bytes(networks));
  put(out, kNetworksMagic);
  put(out, static_cast<std::uint32_t>(networks.ipv4().size()));
  put(out, static_cast<std::uint32_t>(networks.ipv6().size()));
  put(out, std::uint32_t{0});
  append_all(out, networks.ipv4());
  append_all(out, networks.ipv6());
  return out;
}

std::uint64_t ipv4_addresses(const RangeSet& networks) {
  std::uint64_t sum = 0;
  for (const RangeSet::Ipv4Range& range : networks.ipv4()) sum += std::uint64_t{range.last} - range.first + 1;
  return sum;
}

}  // namespace bloomwall::filter
