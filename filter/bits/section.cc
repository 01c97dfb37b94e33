// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/section.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>

#include "filter/bits/line_ops.h"

namespace bloomwall::filter {
namespace {

__extension__ using Wide = unsigned __int128;

// Scalar until the constructor below has looked at the processor: a question asked during static initialisation of
// another file is answered all the same.
constinit std::atomic<const bits::LineOps*> current_ops{&bits::kScalarOps};
const bits::LineOps& ops() { return *current_ops.load(std::memory_order_relaxed); }

struct ChooseOps {
  ChooseOps() { force_simd_for_testing(Simd::avx2); }
};
const ChooseOps choose_ops;

// Addresses of the lines of one set, as offsets in bytes from the page.
struct SectorLines {
  std::array<std::size_t, 2> at;
  explicit SectorLines(std::uint64_t x)
      : at{bits::sector_line_a(x) * kLineBytes, bits::sector_line_b(x, bits::second_word(x)) * kLineBytes} {}
};
struct QuadLines {
  std::array<std::size_t, 4> at;
  explicit QuadLines(std::uint64_t x)
      : at{bits::quad_line(x, 0) * kLineBytes, bits::quad_line(x, 1) * kLineBytes, bits::quad_line(x, 2) * kLineBytes,
           bits::quad_line(x, 3) * kLineBytes} {}
};

std::size_t first_line(Layout layout, std::uint64_t x) {
  return (layout == Layout::sectors_2x8 ? bits::sector_line_a(x) : bits::quad_line(x, 0)) * kLineBytes;
}

bool test_first_line(Layout layout, const std::byte* line, std::uint64_t x) {
  return layout == Layout::sectors_2x8 ? ops().test_sectors(line, x) : ops().test_quad(line, x >> 11);
}

// The lines after the first; `lx` chose the lines, `x` chooses the bits.
bool test_further_lines(Layout layout, const std::byte* page, std::uint64_t lx, std::uint64_t x) {
  if (layout == Layout::sectors_2x8) {
    return ops().test_sectors(page + SectorLines(lx).at[1], bits::second_word(x));
  }
  const QuadLines lines(lx);
  const auto words = bits::quad_words(x);
  for (std::size_t j = 1; j < 4; ++j) {
    if (!ops().test_quad(page + lines.at[j], words[j])) return false;
  }
  return true;
}

bool test_set(Layout layout, const std::byte* page, std::uint64_t lx, std::uint64_t x) {
  return test_first_line(layout, page + first_line(layout, lx), x) && test_further_lines(layout, page, lx, x);
}

// The word that selects the lines of a set whose own first word is x.
std::uint64_t line_word(SectionKind kind, std::uint64_t fingerprint, std::uint64_t x) {
  return kind == SectionKind::hosts ? bits::first_word(fingerprint, 0) : x;
}

// The lines of one set and what is to be set in each.
constexpr std::size_t kMostLines = 4;
using LineWrites = std::array<bits::LineWrite, kMostLines>;

std::span<const bits::LineWrite> list_writes(Layout layout, std::byte* page, std::uint64_t lx, std::uint64_t x,
                                             std::span<bits::LineWrite, kMostLines> out) {
  if (layout == Layout::sectors_2x8) {
    const SectorLines lines(lx);
    const auto words = bits::sector_words(x);
    for (std::size_t j = 0; j < 2; ++j) out[j] = {page + lines.at[j], words[j]};
    return out.first(2);
  }
  const QuadLines lines(lx);
  const auto words = bits::quad_words(x);
  for (std::size_t j = 0; j < 4; ++j) out[j] = {page + lines.at[j], words[j]};
  return out;
}

void write_exclusive(Layout layout, std::span<const bits::LineWrite> writes) {
  layout == Layout::sectors_2x8 ? ops().set_sectors(writes) : ops().set_quad(writes);
}

void write_shared(Layout layout, std::span<const bits::LineWrite> writes) {
  for (const auto& [line, word] : writes) {
    layout == Layout::sectors_2x8 ? bits::or_sectors(line, word) : bits::or_quad(line, word);
  }
}

}  // namespace

Place place_of(const Geometry& geometry, SectionKind kind, const Hash128& key) {
  return {.page = static_cast<std::uint64_t>((Wide{key.hi} * geometry.pages) >> 64),
          .fingerprint = key.lo >> (64 - fingerprint_bits(kind))};
}

void SectionView::prefetch(const Place& place) const {
  const std::uint64_t x = bits::first_word(place.fingerprint, 0);
  __builtin_prefetch(page_address(place) + first_line(geometry_.layout, x));
}

void SectionView::prefetch_all(const Place& place) const {
  const std::uint64_t x = bits::first_word(place.fingerprint, 0);
  const std::byte* const page = page_address(place);
  if (geometry_.layout == Layout::sectors_2x8) {
    for (const std::size_t line : SectorLines(x).at) __builtin_prefetch(page + line);
  } else {
    for (const std::size_t line : QuadLines(x).at) __builtin_prefetch(page + line);
  }
}

bool SectionView::test(const Place& place, Variant variant) const {
  const std::uint64_t x = bits::first_word(place.fingerprint, variant);
  return test_set(geometry_.layout, page_address(place), line_word(kind_, place.fingerprint, x), x);
}

std::uint32_t SectionView::test_variants(const Place& place, std::uint32_t wanted) const {
  const Layout layout = geometry_.layout;
  const std::byte* const page = page_address(place);
  const std::uint64_t lx = bits::first_word(place.fingerprint, 0);
  const std::byte* const line = page + first_line(layout, lx);
  std::uint32_t found = 0;
  for (std::uint32_t rest = wanted; rest != 0; rest &= rest - 1) {
    const auto variant = static_cast<Variant>(std::countr_zero(rest));
    if (test_first_line(layout, line, bits::first_word(place.fingerprint, variant))) found |= rest & (~rest + 1);
  }
  for (std::uint32_t rest = found; rest != 0; rest &= rest - 1) {
    const auto variant = static_cast<Variant>(std::countr_zero(rest));
    const bool set = test_further_lines(layout, page, lx, bits::first_word(place.fingerprint, variant));
    if (!set) found &= ~(rest & (~rest + 1));
  }
  return found;
}

void SectionWriter::insert(const Place& place, Variant variant) {
  const std::uint64_t x = bits::first_word(place.fingerprint, variant);
  LineWrites writes;
  write_shared(geometry_.layout, list_writes(geometry_.layout, pages_ + place.page * kPageBytes,
                                             line_word(kind_, place.fingerprint, x), x, writes));
}

void SectionWriter::insert_exclusive(const Place& place, Variant variant) {
  const std::uint64_t x = bits::first_word(place.fingerprint, variant);
  LineWrites writes;
  write_exclusive(geometry_.layout, list_writes(geometry_.layout, pages_ + place.page * kPageBytes,
                                                line_word(kind_, place.fingerprint, x), x, writes));
}

void SectionWriter::insert_exclusive(std::span<const Place> places) {
  constexpr std::size_t kBlock = 16;  // twice so many keys' lines are under way: as many as a core fetches at once
  std::array<std::array<bits::LineWrite, kBlock * kMostLines>, 2> blocks;
  std::span<const bits::LineWrite> fetched;
  for (unsigned b = 0; !places.empty(); b ^= 1) {
    std::size_t used = 0;
    for (const Place& place : places.first(std::min(places.size(), kBlock))) {
      const std::uint64_t x = bits::first_word(place.fingerprint, 0);  // selects the lines in every section
      const auto writes = list_writes(geometry_.layout, pages_ + place.page * kPageBytes, x, x,
                                      std::span(blocks[b]).subspan(used).first<kMostLines>());
      for (const auto& write : writes) __builtin_prefetch(write.line, 1);
      used += writes.size();
    }
    places = places.subspan(std::min(places.size(), kBlock));
    write_exclusive(geometry_.layout, fetched);
    fetched = std::span(blocks[b]).first(used);
  }
  write_exclusive(geometry_.layout, fetched);
}

BitPositions bit_positions(Layout layout, SectionKind kind, std::uint64_t fingerprint, Variant variant) {
  const std::uint64_t x = bits::first_word(fingerprint, variant);
  const std::uint64_t lx = line_word(kind, fingerprint, x);
  BitPositions out;
  const auto add = [&out](std::size_t line_byte, unsigned bit) {
    out.at[out.count++] = static_cast<std::uint32_t>(line_byte * 8) + bit;
  };
  if (layout == Layout::sectors_2x8) {
    for (std::size_t j = 0; j < 2; ++j) {
      for (unsigned i = 0; i < 8; ++i)
        add(SectorLines(lx).at[j], i * 64 + bits::sector_bit(bits::sector_words(x)[j], i));
    }
    return out;
  }
  for (std::size_t j = 0; j < 4; ++j) {
    for (unsigned i = 0; i < 4; ++i) add(QuadLines(lx).at[j], bits::quad_bit(bits::quad_words(x)[j], i));
  }
  return out;
}

Simd active_simd() { return &ops() == &bits::kScalarOps ? Simd::scalar : Simd::avx2; }

void force_simd_for_testing(Simd simd) {
  const bits::LineOps* wanted = simd == Simd::avx2 ? bits::avx2_ops() : nullptr;
  current_ops.store(wanted != nullptr ? wanted : &bits::kScalarOps, std::memory_order_relaxed);
}

}  // namespace bloomwall::filter
