// Section `networks` of a .bwf file: ranges of IPv4 and IPv6 addresses, exact. Unlike keys they have no false
// positives.
//   offset  size  field (little-endian)
//   0       4     magic "BWN1"
//   4       4     ranges of IPv4, u32
//   8       4     ranges of IPv6, u32; both together 1 to kMaxNetworks
//   12      4     zero
//   16      8n    ranges of IPv4: first u32, last u32, the first octet of an address in the highest byte
//           32m   ranges of IPv6: first 16, last 16, in the order of the network
// First and last are in the range. Ranges of either kind ascend and neither overlap nor touch: what touches is one
// range, so that equal sets of addresses are equal bytes. Critical. Held in RAM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "filter/result.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {

inline constexpr std::uint64_t kMaxNetworks = std::uint64_t{1} << 22;  // 32 MiB of IPv4, 128 MiB of IPv6
inline constexpr std::size_t kNetworksHeaderBytes = 16;
inline constexpr std::size_t kIpv4RangeBytes = 8;
inline constexpr std::size_t kIpv6RangeBytes = 32;
inline constexpr std::uint64_t kMostNetworksBytes = kNetworksHeaderBytes + kMaxNetworks * kIpv6RangeBytes;

// Hostile bytes: sizes are checked before memory is asked for, then every range. Errors: bad_section, saying which rule
// is broken.
Result<RangeSet> parse_networks(std::span<const std::byte> section);
std::uint64_t networks_bytes(const RangeSet& networks);  // of the section; 0: there is none
// The bytes of the section; empty where there are no ranges. At most kMaxNetworks of them.
std::vector<std::byte> serialise_networks(const RangeSet& networks);

// Addresses of IPv4 in its ranges.
std::uint64_t ipv4_addresses(const RangeSet& networks);

}  // namespace bloomwall::filter
