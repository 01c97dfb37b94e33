// The same four operations with AVX2, compiled by function attribute so that the rest of the program runs anywhere.
// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/line_ops.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define BLOOMWALL_AVX2 __attribute__((target("avx2")))

namespace bloomwall::filter::bits {
namespace {

struct Mask {
  __m256i low;   // words 0..3
  __m256i high;  // words 4..7
};

// One bit in each of eight words.
BLOOMWALL_AVX2 inline Mask sector_mask(std::uint64_t word) {
  const __m256i all = _mm256_set1_epi64x(static_cast<long long>(word));
  const __m256i six = _mm256_set1_epi64x(63);
  const __m256i one = _mm256_set1_epi64x(1);
  const __m256i low = _mm256_and_si256(_mm256_srlv_epi64(all, _mm256_setr_epi64x(0, 6, 12, 18)), six);
  const __m256i high = _mm256_and_si256(_mm256_srlv_epi64(all, _mm256_setr_epi64x(24, 30, 36, 42)), six);
  return {_mm256_sllv_epi64(one, low), _mm256_sllv_epi64(one, high)};
}

// Four bits anywhere: a shift by a count outside 0..63 gives 0, so each bit appears in its own word only.
BLOOMWALL_AVX2 inline Mask quad_mask(std::uint64_t word) {
  const __m256i one = _mm256_set1_epi64x(1);
  const __m256i low_base = _mm256_setr_epi64x(0, 64, 128, 192);
  const __m256i high_base = _mm256_setr_epi64x(256, 320, 384, 448);
  Mask mask{_mm256_setzero_si256(), _mm256_setzero_si256()};
  for (int i = 0; i < 4; ++i) {
    const __m256i bit = _mm256_set1_epi64x(static_cast<long long>((word >> (9 * i)) & 511));
    mask.low = _mm256_or_si256(mask.low, _mm256_sllv_epi64(one, _mm256_sub_epi64(bit, low_base)));
    mask.high = _mm256_or_si256(mask.high, _mm256_sllv_epi64(one, _mm256_sub_epi64(bit, high_base)));
  }
  return mask;
}

BLOOMWALL_AVX2 inline bool holds(const std::byte* line, const Mask& mask) {
  const auto* at = reinterpret_cast<const __m256i*>(line);
  return (_mm256_testc_si256(_mm256_load_si256(at), mask.low) &
          _mm256_testc_si256(_mm256_load_si256(at + 1), mask.high)) != 0;
}

BLOOMWALL_AVX2 inline void add(std::byte* line, const Mask& mask) {
  auto* at = reinterpret_cast<__m256i*>(line);
  _mm256_store_si256(at, _mm256_or_si256(_mm256_load_si256(at), mask.low));
  _mm256_store_si256(at + 1, _mm256_or_si256(_mm256_load_si256(at + 1), mask.high));
}

BLOOMWALL_AVX2 bool test_sectors_avx2(const std::byte* line, std::uint64_t word) {
  return holds(line, sector_mask(word));
}
BLOOMWALL_AVX2 bool test_quad_avx2(const std::byte* line, std::uint64_t word) { return holds(line, quad_mask(word)); }
BLOOMWALL_AVX2 void set_sectors_avx2(std::span<const LineWrite> writes) {
  for (const auto& [line, word] : writes) add(line, sector_mask(word));
}
BLOOMWALL_AVX2 void set_quad_avx2(std::span<const LineWrite> writes) {
  for (const auto& [line, word] : writes) add(line, quad_mask(word));
}

constexpr LineOps kAvx2Ops{test_sectors_avx2, test_quad_avx2, set_sectors_avx2, set_quad_avx2};

}  // namespace

const LineOps* avx2_ops() { return __builtin_cpu_supports("avx2") != 0 ? &kAvx2Ops : nullptr; }

}  // namespace bloomwall::filter::bits

#else

namespace bloomwall::filter::bits {
const LineOps* avx2_ops() { return nullptr; }
}  // namespace bloomwall::filter::bits

#endif
