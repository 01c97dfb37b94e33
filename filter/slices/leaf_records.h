// The keys of a slice that fall into one leaf (4 MiB) of a filter's pages, as the records section keeps them: ascending
// values, each once, as differences in Rice code (Golomb 1966, Rice 1979). The differences of n random values are
// nearly geometric, for which that code with k near log2 of their mean is within 0.04 bits of the best.
//   value   P  page in the leaf << 35 | fingerprint                45 bits
//           R  page << 64 | fingerprint                            74 bits
//           H  (page << 64 | fingerprint) << 5 | variant           79 bits
//   code    of a difference d (the first value as it is): d >> k one-bits, a zero bit, k low bits, least first; bits
// fill
//           octets from the lowest one; the last octet is filled up with zeros
// Threads: any. Cost: some 5 ns a record either way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "filter/bits/section.h"
#include "filter/result.h"
#include "filter/slices/work_header.h"

namespace bloomwall::filter {

__extension__ using RecordValue = unsigned __int128;

inline constexpr std::uint64_t kPagesOfLeaf = kLeafBytes / kPageBytes;
inline constexpr unsigned kLeafPageBits = 10;
static_assert(std::uint64_t{1} << kLeafPageBits == kPagesOfLeaf);
inline constexpr unsigned kVariantBits = 5;
inline constexpr unsigned kMostValueBits = kLeafPageBits + 64 + kVariantBits;
constexpr unsigned value_bits(SectionKind kind) {
  return kLeafPageBits + fingerprint_bits(kind) + (kind == SectionKind::hosts ? kVariantBits : 0);
}

// `place.page` counts from the first page of the leaf.
constexpr RecordValue value_of(SectionKind kind, const Place& place, Variant variant) {
  const RecordValue value = RecordValue{place.page} << fingerprint_bits(kind) | place.fingerprint;
  return kind == SectionKind::hosts ? value << kVariantBits | variant : value;
}
struct LeafKey {
  Place place;
  Variant variant = 0;
};
constexpr LeafKey key_of_value(SectionKind kind, RecordValue value) {
  LeafKey out;
  if (kind == SectionKind::hosts) {
    out.variant = static_cast<Variant>(value & ((1U << kVariantBits) - 1));
    value >>= kVariantBits;
  }
  const unsigned bits = fingerprint_bits(kind);
  out.place = {.page = static_cast<std::uint64_t>(value >> bits),
               .fingerprint = static_cast<std::uint64_t>(value & ((RecordValue{1} << bits) - 1))};
  return out;
}

// What the index says of a leaf; 24 octets.
struct LeafIndex {
  std::uint64_t offset = 0;  // in the section of records
  std::uint32_t records = 0;
  std::uint8_t k = 0;
  std::uint64_t sum = 0;  // XXH3-64 of its code
};
inline constexpr std::size_t kLeafIndexBytes = 24;
std::vector<std::byte> serialise_index(std::span<const LeafIndex> index);
// Refuses offsets that do not ascend from 0 to `record_bytes` at most, a k above kMostValueBits and octets that are not
// zero. Errors: bad_section.
Result<std::vector<LeafIndex>> parse_index(std::span<const std::byte> bytes, std::uint64_t record_bytes);

// Sets records, k and sum; appends the code of the values, which ascend, each once.
LeafIndex encode_leaf(std::span<const RecordValue> values, std::vector<std::byte>& out);
// Appends the values of a leaf of `kind` with so many pages. Errors: bad_digest, bad_section.
Result<void> decode_leaf(const LeafIndex& leaf, std::span<const std::byte> code, SectionKind kind, std::uint64_t pages,
                         std::vector<LeafKey>& out);

}  // namespace bloomwall::filter
