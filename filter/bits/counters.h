// The counting form of a section: for each of its bits a 4-bit counter, a "cell". Page p of the section (32768 cells)
// is the bytes from p * 16384 on; cell i of it is the low half of byte i / 2 where i is even, else the high half.
//   A key adds one to each of its distinct cells, and one again when it is added again; removing takes one away.
//   A cell that reaches 15 stays there: its true count is no longer known.
//   A cell is the bit it stands for: set where it is not zero.
//   A mark is counted once and stays: its first URL sets its cells to 15, further ones change nothing, and nothing
//   takes it away. The bits are those of a mark counted by one and never removed: no cell of a mark that stays is ever
//   zero.
//   Counted by one, a mark could be lost: only the cells tell whether it was counted already, so a mark that tests
//   positive through the cells of other keys would not be counted, would vanish with them, and would hide listed URLs,
//   because URLs are looked up on marked hosts only.
// Threads: cells of one page are written by one thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filter/bits/section.h"

namespace bloomwall::filter {

inline constexpr std::size_t kCellsPerPage = kPageBytes * 8;
inline constexpr std::size_t kCounterPageBytes = kCellsPerPage / 2;
inline constexpr unsigned kStuckCell = 15;

class CounterSection {
 public:
  // Borrows geometry.pages * kCounterPageBytes bytes.
  CounterSection(const Geometry& geometry, std::byte* cells, SectionKind kind)
      : geometry_(geometry), cells_(cells), kind_(kind) {}

  Place place(const Hash128& key) const { return place_of(geometry_, kind_, key); }
  void prefetch(const Place& place, Variant variant = 0) const;  // some of its lines
  // No cell of it is zero.
  bool test(const Place& place, Variant variant = 0) const;
  void add(const Place& place, Variant variant = 0);
  // False, and nothing is changed, where test() is false.
  bool remove(const Place& place, Variant variant = 0);
  void pin(const Place& place, Variant variant);  // of marks: all cells to 15

 private:
  std::byte* page(const Place& place) const { return cells_ + place.page * kCounterPageBytes; }
  Geometry geometry_;
  std::byte* cells_;
  SectionKind kind_;
};

// Cells of whole pages by what they hold. Memory speed.
struct CellCounts {
  std::uint64_t cells = 0, used = 0, single = 0, stuck = 0;  // of them: not 0, 1, 15
};
CellCounts count_cells(std::span<const std::byte> cells);

// The bits that cells stand for, page by page: bits.size() * 4 == cells.size().
void cells_to_bits(std::span<const std::byte> cells, std::span<std::byte> bits);

// fill_error() of those bits.
double counter_fill_error(Layout layout, std::span<const std::byte> cells);

}  // namespace bloomwall::filter
