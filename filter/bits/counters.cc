// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/counters.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "filter/bits/bloom_math.h"

namespace bloomwall::filter {
namespace {

// The distinct cells of one key.
struct Cells {
  std::array<std::uint32_t, 16> at;
  unsigned count = 0;

  Cells(const Geometry& geometry, SectionKind kind, const Place& place, Variant variant) {
    const BitPositions set = bit_positions(geometry.layout, kind, place.fingerprint, variant);
    std::copy_n(set.at, set.count, at.begin());
    std::sort(at.begin(), at.begin() + set.count);
    count = static_cast<unsigned>(std::unique(at.begin(), at.begin() + set.count) - at.begin());
  }
  const std::uint32_t* begin() const { return at.data(); }
  const std::uint32_t* end() const { return at.data() + count; }
};

unsigned get(const std::byte* page, std::uint32_t cell) {
  return (std::to_integer<unsigned>(page[cell / 2]) >> (cell % 2 * 4)) & 15U;
}
void put(std::byte* page, std::uint32_t cell, unsigned value) {
  const unsigned shift = cell % 2 * 4;
  const unsigned other = std::to_integer<unsigned>(page[cell / 2]) & (0xF0U >> shift);
  page[cell / 2] = static_cast<std::byte>(other | (value << shift));
}

bool all_used(const std::byte* page, const Cells& cells) {
  return std::all_of(cells.begin(), cells.end(), [page](std::uint32_t cell) { return get(page, cell) != 0; });
}

// Sixteen cells to sixteen bits.
std::uint16_t squeeze(std::uint64_t cells) {
  std::uint64_t v = cells | (cells >> 1);
  v = (v | (v >> 2)) & 0x1111111111111111;
  v = (v | (v >> 3)) & 0x0303030303030303;
  v = (v | (v >> 6)) & 0x000F000F000F000F;
  v = (v | (v >> 12)) & 0x000000FF000000FF;
  return static_cast<std::uint16_t>(v | (v >> 24));
}

}  // namespace

void CounterSection::prefetch(const Place& place, Variant variant) const {
  const BitPositions set = bit_positions(geometry_.layout, kind_, place.fingerprint, variant);
  for (unsigned i = 0; i < set.count; i += 4) __builtin_prefetch(page(place) + set.at[i] / 2, 1);
}

bool CounterSection::test(const Place& place, Variant variant) const {
  return all_used(page(place), Cells(geometry_, kind_, place, variant));
}

void CounterSection::add(const Place& place, Variant variant) {
  std::byte* const at = page(place);
  for (const std::uint32_t cell : Cells(geometry_, kind_, place, variant)) {
    const unsigned value = get(at, cell);
    if (value < kStuckCell) put(at, cell, value + 1);
  }
}

bool CounterSection::remove(const Place& place, Variant variant) {
  std::byte* const at = page(place);
  const Cells cells(geometry_, kind_, place, variant);
  if (!all_used(at, cells)) return false;
  for (const std::uint32_t cell : cells) {
    const unsigned value = get(at, cell);
    if (value < kStuckCell) put(at, cell, value - 1);
  }
  return true;
}

void CounterSection::pin(const Place& place, Variant variant) {
  std::byte* const at = page(place);
  for (const std::uint32_t cell : Cells(geometry_, kind_, place, variant)) put(at, cell, kStuckCell);
}

CellCounts count_cells(std::span<const std::byte> cells) {
  std::array<std::uint64_t, 256> bytes{};
  for (const std::byte byte : cells) ++bytes[std::to_integer<std::size_t>(byte)];
  std::array<std::uint64_t, 16> values{};
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    values[byte & 15] += bytes[byte];
    values[byte >> 4] += bytes[byte];
  }
  const std::uint64_t all = cells.size() * 2;
  return {.cells = all, .used = all - values[0], .single = values[1], .stuck = values[kStuckCell]};
}

void cells_to_bits(std::span<const std::byte> cells, std::span<std::byte> bits) {
  for (std::size_t i = 0; i + 2 <= bits.size(); i += 2) {
    std::uint64_t sixteen = 0;
    std::memcpy(&sixteen, cells.data() + 4 * i, sizeof sixteen);
    const std::uint16_t squeezed = squeeze(sixteen);
    std::memcpy(bits.data() + i, &squeezed, sizeof squeezed);
  }
}

double counter_fill_error(Layout layout, std::span<const std::byte> cells) {
  constexpr std::size_t kPagesAtOnce = 256;
  const std::size_t pages = cells.size() / kCounterPageBytes;
  std::vector<std::byte> bits(std::min(pages, kPagesAtOnce) * kPageBytes);
  double sum = 0;
  for (std::size_t page = 0; page < pages; page += kPagesAtOnce) {
    const std::size_t now = std::min(kPagesAtOnce, pages - page);
    const auto some = std::span(bits).first(now * kPageBytes);
    cells_to_bits(cells.subspan(page * kCounterPageBytes, now * kCounterPageBytes), some);
    sum += fill_error(layout, some) * static_cast<double>(now);
  }
  return pages == 0 ? 0 : sum / static_cast<double>(pages);
}

}  // namespace bloomwall::filter
