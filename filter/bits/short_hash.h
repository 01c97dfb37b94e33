// XXH3-128 with a seed of 17 to 64 octets that are at hand as words: the library's digest, but the octets need not lie in
// memory one after the other. Keys are chains of hashes of short texts, each of which ends in the hash before. Put together
// in memory, their words are read across the edges of what was written a moment ago; a processor waits then until it has
// left for the cache, and every link of the chain waits for that: 21 ns a segment, and 8 from words.
// Sixteen octets are a Hash128 here, low half first, little-endian.
// Source: the xxHash specification (XXH3, inputs of 17 to 128 octets). Tests compare it with the library at every length.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "filter/bits/key.h"

namespace bloomwall::filter::bits {

__extension__ using Wide = unsigned __int128;

constexpr Wide wide(const Hash128& octets) { return Wide{octets.hi} << 64 | octets.lo; }
constexpr Hash128 octets_of(Wide value) {
  return {.lo = static_cast<std::uint64_t>(value), .hi = static_cast<std::uint64_t>(value >> 64)};
}

// `count` octets of `head`, whose others are zero, and behind them as many of `tail` as there is room for. count <= 16.
constexpr Hash128 spliced(const Hash128& head, std::size_t count, const Hash128& tail) {
  return octets_of(wide(head) | wide(tail) << (4 * count) << (4 * count));  // in two steps: 128 at once is undefined
}

template <typename Word>
std::uint64_t load(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline Hash128 load_sixteen(const char* at) {
  return {.lo = load<std::uint64_t>(at), .hi = load<std::uint64_t>(at + 8)};
}

// `count` octets from `at`, none beyond them is read; zeros behind them. 1 <= count <= 16.
inline Hash128 load_octets(const char* at, std::size_t count) {
  if (count > 8) {
    return {.lo = load<std::uint64_t>(at), .hi = load<std::uint64_t>(at + count - 8) >> (8 * (16 - count))};
  }
  if (count >= 4) {
    return {.lo = load<std::uint32_t>(at) | load<std::uint32_t>(at + count - 4) << (8 * (count - 4)), .hi = 0};
  }
  const std::size_t middle = count / 2, last = count - 1;  // some octets twice where there are fewer than three
  return {.lo = load<std::uint8_t>(at) | load<std::uint8_t>(at + middle) << (8 * middle) |
                load<std::uint8_t>(at + last) << (8 * last),
          .hi = 0};
}

class ShortHash {
 public:
  explicit constexpr ShortHash(std::uint64_t seed) : seed_(seed) {
    for (std::size_t i = 0; i < secret_.size(); ++i) secret_[i] = i % 2 == 0 ? kSecret[i] + seed : kSecret[i] - seed;
  }

  // 17 to 32 octets: the first sixteen and the last.
  constexpr Hash128 up_to_32(const Hash128& first, const Hash128& last, std::size_t size) const {
    Sums sums{size * kPrime1, 0};
    mix(sums, first, last, 0);
    return finish(sums, size);
  }
  // 33 to 64: the first sixteen, the sixteen after them, those before the last, and the last.
  constexpr Hash128 up_to_64(const Hash128& first, const Hash128& second, const Hash128& last_but_one,
                             const Hash128& last, std::size_t size) const {
    Sums sums{size * kPrime1, 0};
    mix(sums, second, last_but_one, 4);
    mix(sums, first, last, 0);
    return finish(sums, size);
  }

 private:
  static constexpr std::uint64_t kPrime1 = 0x9e3779b185ebca87, kPrime2 = 0xc2b2ae3d27d4eb4f,
                                 kPrime4 = 0x85ebca77c2b2ae63, kAvalanche = 0x165667919e3779f9;
  static constexpr std::array<std::uint64_t, 8> kSecret{0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de,
                                                        0x1f67b3b7a4a44072, 0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82,
                                                        0x8e2443f7744608b8, 0x4c263a81e69035e0};
  struct Sums {
    std::uint64_t low, high;
  };

  static constexpr std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
    const Hash128 product = octets_of(Wide{a} * b);
    return product.lo ^ product.hi;
  }
  constexpr void mix(Sums& sums, const Hash128& a, const Hash128& b, std::size_t word) const {
    sums.low += folded(a.lo ^ secret_[word], a.hi ^ secret_[word + 1]);
    sums.low ^= b.lo + b.hi;
    sums.high += folded(b.lo ^ secret_[word + 2], b.hi ^ secret_[word + 3]);
    sums.high ^= a.lo + a.hi;
  }
  static constexpr std::uint64_t avalanched(std::uint64_t value) {
    value = (value ^ value >> 37) * kAvalanche;
    return value ^ value >> 32;
  }
  constexpr Hash128 finish(const Sums& sums, std::size_t size) const {
    return {.lo = avalanched(sums.low + sums.high),
            .hi = 0 - avalanched(sums.low * kPrime1 + sums.high * kPrime4 + (size - seed_) * kPrime2)};
  }

  std::uint64_t seed_;
  std::array<std::uint64_t, 8> secret_{};
};

}  // namespace bloomwall::filter::bits
