// An address as a number, for comparisons and masks. Threads: any; nothing blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>

#include "base/ip.h"

namespace bloomwall::proxy {

struct AddressWords {
  std::uint64_t high = 0, low = 0;

  static AddressWords of(const IpAddress& address) {
    static_assert(std::endian::native == std::endian::little);
    AddressWords words;
    std::memcpy(&words.high, address.octets.data(), sizeof words.high);
    std::memcpy(&words.low, address.octets.data() + sizeof words.high, sizeof words.low);
    return {__builtin_bswap64(words.high), __builtin_bswap64(words.low)};
  }
  AddressWords operator&(const AddressWords& mask) const { return {high & mask.high, low & mask.low}; }
  friend auto operator<=>(const AddressWords&, const AddressWords&) = default;
};

}  // namespace bloomwall::proxy
