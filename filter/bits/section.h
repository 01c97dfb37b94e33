// One section of a filter: pages of 4096 bytes, 64 lines of 64 bytes each, and two layouts of a key's bits inside its
// page. A key always lives in one page, so a question costs one page at most and about one cache line.
//   layout 1 "2x8 sectors": 2 lines, in each one bit of each of its eight 64-bit words
//   layout 2 "4x4":         4 lines, 4 bits anywhere in each
// Which page: the high half of the 128-bit product hi * pages. Which bits: line_ops.h, from the fingerprint alone: lo
// in H and R, lo >> 29 in P.
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

enum class Layout : std::uint16_t { sectors_2x8 = 1, lines_4x4 = 2 };

struct Geometry {
  Layout layout = Layout::sectors_2x8;
  std::uint64_t pages = 1;  // >= 1
  std::uint64_t bytes() const { return pages * kPageBytes; }
  friend bool operator==(const Geometry&, const Geometry&) = default;
};

// Follows from the section, so it is not in the file:
//   hosts  H: every variant takes the lines of variant 0, so that all questions about a host touch the same lines; its
//          bits inside the lines come from the variant itself. Fingerprints of 64 bits.
//   paths  P: fingerprints of 35 bits, so that a key on its way to a page of a large file is a record of six bytes
//   raw    R: fingerprints of 64 bits
enum class SectionKind : std::uint8_t { hosts, paths, raw };
constexpr unsigned fingerprint_bits(SectionKind kind) { return kind == SectionKind::paths ? 35 : 64; }

// Where a key lives: its page, and the fingerprint from which everything inside the page derives.
struct Place {
  std::uint64_t page = 0;
  std::uint64_t fingerprint = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
Place place_of(const Geometry& geometry, SectionKind kind, const Hash128& key);

// Read-only questions about a section. Borrows its bytes, which must be 64-byte aligned. Thread-safe, never allocates,
// never blocks (but for page faults where the bytes are not resident: see FilterFile). AVX2 or scalar, chosen once at
// start, with equal results. To ask many keys: place() and prefetch() for each, then test() for each.
class SectionView {
 public:
  SectionView() = default;
  SectionView(const Geometry& geometry, const std::byte* pages, SectionKind kind)
      : geometry_(geometry), pages_(pages), kind_(kind) {}
  explicit operator bool() const { return pages_ != nullptr; }
  const Geometry& geometry() const { return geometry_; }
  std::span<const std::byte> bytes() const { return {pages_, pages_ == nullptr ? 0 : geometry_.bytes()}; }

  Place place(const Hash128& key) const { return place_of(geometry_, kind_, key); }
  const std::byte* page_address(const Place& place) const { return pages_ + place.page * kPageBytes; }
  void prefetch(const Place& place) const;      // the first line of the place
  void prefetch_all(const Place& place) const;  // all lines of variant 0: for keys that are there, or will be written
  bool test(const Place& place, Variant variant = 0) const;
  // Several variants of one host at once, in H: bit v of `wanted` asks variant v; the answer
  // has the same form. One line is read for all of them; the further lines only for those that survive the first.
  std::uint32_t test_variants(const Place& place, std::uint32_t wanted) const;

 private:
  Geometry geometry_;
  const std::byte* pages_ = nullptr;
  SectionKind kind_ = SectionKind::hosts;
};

// Writes keys into a section in memory. insert() uses an atomic OR: any number of threads may insert at once.
// insert_exclusive() is several times faster, for a caller that is the only writer of those pages meanwhile (one
// thread, or one thread per range of pages); with many places it prefetches the lines of some while it writes those of
// others. Both give the same bits.
class SectionWriter {
 public:
  SectionWriter(const Geometry& geometry, std::byte* pages, SectionKind kind)
      : geometry_(geometry), pages_(pages), kind_(kind) {}
  Place place(const Hash128& key) const { return place_of(geometry_, kind_, key); }
  void insert(const Hash128& key, Variant variant = 0) { insert(place(key), variant); }
  void insert(const Place& place, Variant variant = 0);
  void insert_exclusive(const Place& place, Variant variant = 0);
  void insert_exclusive(std::span<const Place> places);  // variant 0
  const Geometry& geometry() const { return geometry_; }
  std::span<std::byte> bytes() const { return {pages_, geometry_.bytes()}; }
  SectionView view() const { return {geometry_, pages_, kind_}; }  // not while others insert

 private:
  Geometry geometry_;
  std::byte* pages_;
  SectionKind kind_;
};

// The bits of one set, for test vectors and `query --bits`: offsets in bits from the start of the page.
struct BitPositions {
  unsigned count = 0;
  std::uint32_t at[16] = {};
};
BitPositions bit_positions(Layout layout, SectionKind kind, std::uint64_t fingerprint, Variant variant = 0);

// Which implementation this process uses, and a way for tests and benchmarks to pin it (AVX2 where the processor has
// it).
enum class Simd : std::uint8_t { scalar, avx2 };
Simd active_simd();
void force_simd_for_testing(Simd simd);

}  // namespace bloomwall::filter
