// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/line_ops.h"

#include <atomic>
#include <bit>

namespace bloomwall::filter::bits {
namespace {

static_assert(std::endian::native == std::endian::little, "words of a line are little-endian in the file");

const std::uint64_t* words(const std::byte* line) { return reinterpret_cast<const std::uint64_t*>(line); }
std::uint64_t* words(std::byte* line) { return reinterpret_cast<std::uint64_t*>(line); }

bool test_sectors(const std::byte* line, std::uint64_t word) {
  std::uint64_t all = 1;
  for (unsigned i = 0; i < 8; ++i) all &= words(line)[i] >> sector_bit(word, i);
  return (all & 1) != 0;
}

bool test_quad(const std::byte* line, std::uint64_t word) {
  std::uint64_t all = 1;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned bit = quad_bit(word, i);
    all &= words(line)[bit >> 6] >> (bit & 63);
  }
  return (all & 1) != 0;
}

void set_sectors(std::span<const LineWrite> writes) {
  for (const auto& [line, word] : writes) {
    for (unsigned i = 0; i < 8; ++i) words(line)[i] |= std::uint64_t{1} << sector_bit(word, i);
  }
}

void set_quad(std::span<const LineWrite> writes) {
  for (const auto& [line, word] : writes) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned bit = quad_bit(word, i);
      words(line)[bit >> 6] |= std::uint64_t{1} << (bit & 63);
    }
  }
}

// A plain load first: most bits of a key seen before are set already, and a locked OR costs ten times a load.
void or_word(std::uint64_t& at, std::uint64_t mask) {
  std::atomic_ref<std::uint64_t> word(at);
  if ((word.load(std::memory_order_relaxed) & mask) == 0) word.fetch_or(mask, std::memory_order_relaxed);
}

}  // namespace

void or_sectors(std::byte* line, std::uint64_t word) {
  for (unsigned i = 0; i < 8; ++i) or_word(words(line)[i], std::uint64_t{1} << sector_bit(word, i));
}

void or_quad(std::byte* line, std::uint64_t word) {
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned bit = quad_bit(word, i);
    or_word(words(line)[bit >> 6], std::uint64_t{1} << (bit & 63));
  }
}

constexpr LineOps kScalarOps{test_sectors, test_quad, set_sectors, set_quad};

}  // namespace bloomwall::filter::bits
