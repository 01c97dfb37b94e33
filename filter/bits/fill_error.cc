// The error that the bits at hand give; door in bloom_math.h.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstring>

#include "filter/bits/bloom_math.h"

#if defined(__x86_64__)
#define BLOOMWALL_POPCNT __attribute__((target("popcnt")))
#else
#define BLOOMWALL_POPCNT
#endif

namespace bloomwall::filter {
namespace {

constexpr std::size_t kLinesPerPage = kPageBytes / kLineBytes;
constexpr std::size_t kWords = kLineBytes / sizeof(std::uint64_t);

// Of each line of a page: for 2x8 the product of the counts of its words, at most 64^8; for 4x4 the count of the line.
using LineCounts = std::array<std::uint64_t, kLinesPerPage>;
using CountLines = void (*)(Layout, const std::byte* page, LineCounts& out);

// Written once and compiled twice, since the processor's counting instruction can't be assumed.
[[gnu::always_inline]] inline void count_lines(Layout layout, const std::byte* page, LineCounts& out) {
  for (std::size_t line = 0; line < kLinesPerPage; ++line) {
    std::array<std::uint64_t, kWords> words{};
    std::memcpy(words.data(), page + line * kLineBytes, kLineBytes);
    std::uint64_t sum = 0;
    std::uint64_t product = 1;
    for (const std::uint64_t word : words) {
      const auto count = static_cast<std::uint64_t>(std::popcount(word));
      sum += count;
      product *= count;
    }
    out[line] = layout == Layout::sectors_2x8 ? product : sum;
  }
}
void count_plain(Layout layout, const std::byte* page, LineCounts& out) { count_lines(layout, page, out); }
BLOOMWALL_POPCNT void count_fast(Layout layout, const std::byte* page, LineCounts& out) {
  count_lines(layout, page, out);
}

CountLines choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("popcnt") == 0) return count_plain;
#endif
  return count_fast;
}

double sectors_page(const LineCounts& counts) {
  double sum = 0;
  double squares = 0;
  for (const std::uint64_t product : counts) {
    const double pass = static_cast<double>(product) * 0x1p-48;
    sum += pass;
    squares += pass * pass;
  }
  return (sum * sum - squares) / static_cast<double>(kLinesPerPage * (kLinesPerPage - 1));
}

double quad_page(const LineCounts& counts) {
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double fill = static_cast<double>(count) / (8 * kLineBytes);
    sum += fill * fill * fill * fill;
  }
  const double mean = sum / kLinesPerPage;
  return mean * mean * mean * mean;
}

}  // namespace

double fill_error(Layout layout, std::span<const std::byte> pages) {
  static const CountLines count = choose();
  const std::size_t page_count = pages.size() / kPageBytes;
  if (page_count == 0) return 0;
  double total = 0;
  LineCounts counts{};
  for (std::size_t i = 0; i < page_count; ++i) {
    count(layout, pages.data() + i * kPageBytes, counts);
    total += layout == Layout::sectors_2x8 ? sectors_page(counts) : quad_page(counts);
  }
  return total / static_cast<double>(page_count);
}

}  // namespace bloomwall::filter
