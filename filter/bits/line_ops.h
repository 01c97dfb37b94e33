// Inside filter/bits: lines of 64 bytes asked or written, by scalar code or by AVX2. One call asks one line, since 94
// to 99.6 % of absent keys end at their first; one call writes many.
// `line` is 64-byte aligned; `word` holds the positions as bit_choice.h lays them out. The set_* functions are for a
// caller that owns the lines; or_* may race with each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace bloomwall::filter::bits
