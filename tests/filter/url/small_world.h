// A few addresses that tests can count: the first and the last 128 of IPv4, and as many of IPv6.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "filter/url/address_range.h"

namespace bloomwall::filter {

class SmallWorld {
 public:
  static constexpr std::size_t kBlock = 128;  // addresses in a row
  static constexpr std::size_t kSize = 4 * kBlock;

  explicit SmallWorld(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine_); }

  static IpAddress address(std::size_t i) {
    const std::size_t block = i / kBlock;
    const bool is_last = block % 2 == 1;
    IpAddress out = block < 2 ? IpAddress::v4(is_last ? 0xffffffffU : 0) : IpAddress{};
    if (is_last && block >= 2) out.octets.fill(0xff);
    out.octets.back() = static_cast<std::uint8_t>(i % kBlock + (is_last ? kBlock : 0));
    return out;
  }
  AddressRange range() {
    const std::size_t block = below(kSize / kBlock) * kBlock;
    std::size_t first = below(kBlock), last = below(3) == 0 ? below(kBlock) : std::min(first + below(5), kBlock - 1);
    if (last < first) std::swap(first, last);
    const IpAddress begin = address(block + first);
    return {begin, address(block + last)};
  }
  // Some ranges, and which addresses are in one.
  std::pair<std::vector<AddressRange>, std::vector<bool>> some_ranges() {
    std::pair<std::vector<AddressRange>, std::vector<bool>> out{{}, std::vector<bool>(kSize)};
    for (std::size_t n = below(40); n > 0; --n) {
      out.first.push_back(range());
      each(out.first.back(), [&](std::size_t i) { out.second[i] = true; });
    }
    return out;
  }
  template <typename Do>
  void each(const AddressRange& range, Do&& act) const {
    for (std::size_t i = 0; i < kSize; ++i) {
      const IpAddress at = address(i);
      if (range.contains(at)) act(i);
    }
  }
  bool holds_some(const std::vector<bool>& in, const AddressRange& range) const {
    bool some = false;
    each(range, [&](std::size_t i) { some |= in[i]; });
    return some;
  }
  bool holds_only(const std::vector<std::uint32_t>& values, const AddressRange& range, std::uint32_t value) const {
    bool only = true;
    each(range, [&](std::size_t i) { only &= values[i] == value; });
    return only;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace bloomwall::filter
