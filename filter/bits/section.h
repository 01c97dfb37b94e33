// One section of a filter: pages of 4096 bytes, 64 lines of 64 bytes each, and two layouts of a key's bits inside its
// page. A key always lives in one page, so a question costs one page at most and about one cache line.
//   layout 1 "2x8 sectors": 2 lines, in each one bit of each of its eight 64-bit words
//   layout 2 "4x4":         4 lines, 4 bits anywhere in each
// Which page: hi * segments is a 128-bit product; its high half is the segment, its low half (uniform again) times
// pages_per_segment gives the page in its high half. Which bits: bit_choice.h, from the fingerprint lo >> 29 alone.
// All of it is pinned by tests/data/key_vectors.tsv. Arithmetic is 64-bit; sizes beyond 2^32 bits and bytes are tested.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filter/bits/key.h"

namespace bloomwall::filter {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kLineBytes = 64;
inline constexpr unsigned kFingerprintBits = 35;

enum class Layout : std::uint16_t { sectors_2x8 = 1, lines_4x4 = 2 };

struct Geometry {
  Layout layout = Layout::sectors_2x8;
  std::uint32_t segments = 1;           // >= 1; the top bits of the hash choose the segment
  std::uint64_t pages_per_segment = 1;  // >= 1
  std::uint64_t pages() const { return segments * pages_per_segment; }
  std::uint64_t bytes() const { return pages() * kPageBytes; }
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

// Which lines the sets of bits of one key take. Follows from the section, so it is not in the file:
//   own   P and R: every set (a second round too) takes lines of its own, from the x and y of its own variant
//   host  H: every variant and round takes the lines of variant 0, so that all questions about a host touch the same lines
// The bits inside the lines always come from the variant itself. Round r of variant v is variant v + r * kRoundStride.
enum class LineChoice : std::uint8_t { own, host };

// Where a key lives: its page, and the 35-bit fingerprint from which everything inside the page derives.
struct Place {
  std::uint64_t page = 0;
  std::uint64_t fingerprint = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
Place place_of(const Geometry& geometry, const Hash128& key);

// Read-only questions about a section. Borrows its bytes, which must be 64-byte aligned. Thread-safe, never allocates,
// never blocks (but for page faults where the bytes are not resident: see FilterFile). AVX2 or scalar, chosen once at
// start, with equal results. To ask many keys: place() and prefetch() for each, then test() for each.
class SectionView {
 public:
  SectionView() = default;
  SectionView(const Geometry& geometry, const std::byte* pages, LineChoice lines = LineChoice::own)
      : geometry_(geometry), pages_(pages), lines_(lines) {}
  explicit operator bool() const { return pages_ != nullptr; }
  const Geometry& geometry() const { return geometry_; }
  std::span<const std::byte> bytes() const { return {pages_, pages_ == nullptr ? 0 : geometry_.bytes()}; }

  Place place(const Hash128& key) const { return place_of(geometry_, key); }
  const std::byte* page_address(const Place& place) const { return pages_ + place.page * kPageBytes; }
  void prefetch(const Place& place) const;      // the first line of the place
  void prefetch_all(const Place& place) const;  // all lines of variant 0: for keys that are there, or will be written
  // `rounds` (1 or 2) sets of bits, the second asked only where the first is there.
  bool test(const Place& place, Variant variant = 0, unsigned rounds = 1) const;
  // Several variants of one host at once, in a section of LineChoice::host: bit v of `wanted` asks variant v; the answer
  // has the same form. One line is read for all of them; the further lines only for those that survive the first.
  // Variants whose bit is set in `doubled` were written with two rounds.
  std::uint32_t test_variants(const Place& place, std::uint32_t wanted, std::uint32_t doubled = 0) const;

 private:
  Geometry geometry_;
  const std::byte* pages_ = nullptr;
  LineChoice lines_ = LineChoice::own;
};

// Writes keys into a section in memory. insert() uses an atomic OR: any number of threads may insert at once.
// insert_exclusive() is several times faster, for a caller that alone writes to those pages meanwhile (one thread, or one
// thread a range of pages); of many places it fetches the lines of some while it writes those of others. All leave the same
// bits.
class SectionWriter {
 public:
  SectionWriter(const Geometry& geometry, std::byte* pages, LineChoice lines = LineChoice::own)
      : geometry_(geometry), pages_(pages), lines_(lines) {}
  void insert(const Hash128& key, Variant variant = 0, unsigned rounds = 1) {
    insert(place_of(geometry_, key), variant, rounds);
  }
  void insert(const Place& place, Variant variant = 0, unsigned rounds = 1);
  void insert_exclusive(const Place& place, Variant variant = 0, unsigned rounds = 1);
  void insert_exclusive(std::span<const Place> places);  // variant 0, one round
  const Geometry& geometry() const { return geometry_; }
  LineChoice lines() const { return lines_; }
  std::span<std::byte> bytes() const { return {pages_, geometry_.bytes()}; }
  SectionView view() const { return {geometry_, pages_, lines_}; }  // not while others insert

 private:
  template <typename Write>
  void insert_sets(const Place& place, Variant variant, unsigned rounds, Write&& write);

  Geometry geometry_;
  std::byte* pages_;
  LineChoice lines_;
};

// The bits of one set, for test vectors and `query --bits`: offsets in bits from the start of the page.
struct BitPositions {
  unsigned count = 0;
  std::uint32_t at[16] = {};
};
BitPositions bit_positions(Layout layout, std::uint64_t fingerprint, Variant variant, unsigned round = 0,
                           LineChoice lines = LineChoice::own);

// Which implementation this process uses, and a way for tests and benchmarks to pin it (AVX2 where the processor has it).
enum class Simd : std::uint8_t { scalar, avx2 };
Simd active_simd();
void force_simd_for_testing(Simd simd);

}  // namespace bloomwall::filter
