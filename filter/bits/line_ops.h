// Inside filter/bits: lines of 64 bytes asked or written, by scalar code or by AVX2. One call asks one line, since 94
// to 99.6 % of absent keys end at their first; one call writes many.
// `line` is 64-byte aligned; `word` holds the positions as laid out below. The set_* functions are for a
// caller that owns the lines; or_* may race with each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomwall::filter::bits {

struct LineWrite {
  std::byte* line = nullptr;
  std::uint64_t word = 0;
};

struct LineOps {
  bool (*test_sectors)(const std::byte* line, std::uint64_t word);
  bool (*test_quad)(const std::byte* line, std::uint64_t word);
  void (*set_sectors)(std::span<const LineWrite> writes);
  void (*set_quad)(std::span<const LineWrite> writes);
};

extern const LineOps kScalarOps;
const LineOps* avx2_ops();  // null where the processor has none

void or_sectors(std::byte* line, std::uint64_t word);
void or_quad(std::byte* line, std::uint64_t word);

// Inside filter/bits: the bits of one question, derived from a fingerprint (64 bits in H and R, 35 in P). Fixed by key
// derivation 1; must never change.
//   mix64  the finaliser of SplitMix64; x_v = mix64(fp + v * phi) is then the v-th output of that generator, seeded
//          with fp
//   x = x_v, y = mix64(x ^ phi), z = mix64(y), all mod 2^64
// 2x8 sectors: lines x >> 58 and, never the same, (that + 1 + (((y >> 48) * 63) >> 16)) & 63; in the first one bit
//   (x >> 6i) & 63 of each 64-bit word i = 0..7, in the second (y >> 6i) & 63
// 4x4: lines (a + j*d) & 63, j = 0..3, of a = x & 63 and the odd step d = ((x >> 6) & 31) * 2 + 1; in line j four bits:
//   (w_j >> 9i) & 511 of w_0 = x >> 11, w_1 = y, w_2 = z, w_3 = (z >> 36) | ((y >> 36) << 28)
// No bit of x, y, z is used twice within one question.

inline constexpr std::uint64_t kPhi = 0x9e3779b97f4a7c15;

constexpr std::uint64_t mix64(std::uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
  v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
  return v ^ (v >> 31);
}

// First word of variant v of a fingerprint; the others follow from it.
constexpr std::uint64_t first_word(std::uint64_t fingerprint, std::uint32_t variant) {
  return mix64(fingerprint + variant * kPhi);
}
constexpr std::uint64_t second_word(std::uint64_t x) { return mix64(x ^ kPhi); }

constexpr unsigned sector_line_a(std::uint64_t x) { return static_cast<unsigned>(x >> 58); }
constexpr unsigned sector_line_b(std::uint64_t x, std::uint64_t y) {
  return (sector_line_a(x) + 1 + static_cast<unsigned>(((y >> 48) * 63) >> 16)) & 63;
}
constexpr unsigned quad_line(std::uint64_t x, unsigned j) {
  const auto start = static_cast<unsigned>(x & 63);
  const auto step = static_cast<unsigned>((x >> 6) & 31) * 2 + 1;
  return (start + j * step) & 63;
}

// Positions inside the lines: for 2x8 six bits a word, for 4x4 nine bits a position.
constexpr std::array<std::uint64_t, 2> sector_words(std::uint64_t x) { return {x, second_word(x)}; }
constexpr std::array<std::uint64_t, 4> quad_words(std::uint64_t x) {
  const std::uint64_t y = second_word(x);
  const std::uint64_t z = mix64(y);
  return {x >> 11, y, z, (z >> 36) | ((y >> 36) << 28)};
}
constexpr unsigned sector_bit(std::uint64_t word, unsigned i) { return static_cast<unsigned>(word >> (6 * i)) & 63; }
constexpr unsigned quad_bit(std::uint64_t word, unsigned i) { return static_cast<unsigned>(word >> (9 * i)) & 511; }

}  // namespace bloomwall::filter::bits
