// One section of a filter: pages of 4096 bytes, 64 lines of 64 bytes each, and two layouts of a key's bits inside its
// page. A key always lives in one page, so a question costs one page at most and about one cache line.
//   layout 1 "2x8 sectors": 2 lines, in each one bit of each of its eight 64-bit words
//   layout 2 "4x4":         4 lines, 4 bits anywhere in each
// Formulas: section.cc, pinned by tests/data/key_vectors.tsv. All arithmetic is 64-bit; sizes beyond 2^32 bits are tested.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filter/bits/key.h"

namespace bloomwall::filter {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kLineBytes = 64;

enum class Layout : std::uint16_t { sectors_2x8 = 1, lines_4x4 = 2 };

struct Geometry {
  Layout layout = Layout::sectors_2x8;
  std::uint32_t segments = 1;            // >= 1; the top bits of the hash choose the segment
  std::uint64_t pages_per_segment = 1;   // >= 1
  std::uint64_t pages() const { return segments * pages_per_segment; }
  std::uint64_t bytes() const { return pages() * kPageBytes; }
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

// Where a key lives: its page, and the 35-bit fingerprint from which everything inside the page derives.
struct Place {
  std::uint64_t page = 0;
  std::uint64_t fingerprint = 0;
};
Place place_of(const Geometry& geometry, const Hash128& key);

// Read-only questions about a section. Borrows its bytes. Thread-safe, never allocates, never blocks (but for page
// faults where the bytes are not resident: see FilterFile). AVX2 or scalar, chosen once at start, with equal results.
class SectionView {
 public:
  SectionView() = default;
  SectionView(const Geometry& geometry, const std::byte* pages) : geometry_(geometry), pages_(pages) {}
  explicit operator bool() const { return pages_ != nullptr; }
  const Geometry& geometry() const { return geometry_; }

  Place place(const Hash128& key) const { return place_of(geometry_, key); }
  const std::byte* page_address(const Place& place) const { return pages_ + place.page * kPageBytes; }
  void prefetch(const Place& place) const;  // the first line of the place
  // `rounds` independent sets of bits, each asked only where the one before is set.
  bool test(const Place& place, Variant variant = 0, unsigned rounds = 1) const;
  // Several variants of one host at once: bit v of `wanted` asks variant v; the answer has the same form. One line is
  // read for all of them; the further lines only for those that survive the first. Variants whose bit is set in `doubled`
  // were written with two rounds.
  std::uint32_t test_variants(const Place& place, std::uint32_t wanted, std::uint32_t doubled = 0) const;

 private:
  Geometry geometry_;
  const std::byte* pages_ = nullptr;
};

// Writes keys into a section in memory. insert() uses an atomic OR: any number of threads may insert at once.
class SectionWriter {
 public:
  SectionWriter(const Geometry& geometry, std::byte* pages) : geometry_(geometry), pages_(pages) {}
  void insert(const Hash128& key, Variant variant = 0, unsigned rounds = 1) { insert(place_of(geometry_, key), variant, rounds); }
  void insert(const Place& place, Variant variant = 0, unsigned rounds = 1);
  const Geometry& geometry() const { return geometry_; }

 private:
  Geometry geometry_;
  std::byte* pages_;
};

// The bits of one question, for test vectors and `query --bits`: offsets in bits from the start of the page.
struct BitPositions {
  unsigned count = 0;
  std::uint32_t at[16] = {};
};
BitPositions bit_positions(Layout layout, std::uint64_t fingerprint, Variant variant, unsigned round = 0);

// Which implementation this process uses, and a way for tests and benchmarks to pin it.
enum class Simd : std::uint8_t { scalar, avx2 };
Simd active_simd();
void force_simd_for_testing(Simd simd);

}  // namespace bloomwall::filter
