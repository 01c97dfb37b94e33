// Inside filter/file: the bytes of the header, without judging them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "filter/file/header.h"

namespace bloomwall::filter {

// Bytes 4 to 7 perish in a transfer that rewrites line ends or stops at a control-Z; byte 0 in one that clears top
// bits.
inline constexpr std::array<std::uint8_t, 8> kMagic{0x89, 'B', 'W', 'F', '\r', '\n', 0x1a, '\n'};
inline constexpr std::size_t kMajorOffset = 8;
inline constexpr std::size_t kHeaderLengthOffset = 12;
inline constexpr std::size_t kIncompatibleOffset = 24;
inline constexpr std::size_t kSectionCountOffset = 148;
inline constexpr std::size_t kSelfTestOffset = 160;
inline constexpr std::size_t kDigestOffset = kHeaderBytes - 16;
using HeaderBytes = std::array<std::byte, kHeaderBytes>;
using Digest128 = std::array<std::uint8_t, 16>;

// Fields from bytes as they stand; `sections` takes min(section count, kMaxSections) entries.
Header read_fields(const HeaderBytes& bytes);
std::uint32_t read_section_count(const HeaderBytes& bytes);
// What every reader of major version 1 can rely on, in all minor versions: a key is one set of bits (a range has no
// key), a section one segment, there are no entries of other kinds and no other flags of sections. Anything else would
// change look-ups.
bool has_only_known_rules(const HeaderBytes& bytes);
// XXH3-128 (no seed) of the header with the digest field zeroed.
Digest128 header_digest(const HeaderBytes& bytes);
// What a signature is about: the header as it would be without any signature. The digest and all slots are zero; the
// section of signatures, where there is one, is neither in the table nor counted, and the file ends where that
// section's predecessors end. Of a header that parse_header accepts.
HeaderBytes without_signatures(const HeaderBytes& bytes);
// The header with these signatures and the digest that fits; every other byte as it was, known to this build or not.
HeaderBytes with_signatures(const HeaderBytes& bytes, const std::array<Signature, kMaxSignatures>& signatures);
// The same with a section of signatures at the end of the table, for a header that has none and room for it.
HeaderBytes with_signature_section(const HeaderBytes& bytes, const SectionEntry& section);
// Likewise without the section of signatures, slots as they were.
HeaderBytes without_signature_section(const HeaderBytes& bytes);
// The hash of a fixed text with the series key: a reader whose hash function differs notices before it answers.
Digest128 hash_self_test(const SeriesKey& key);

// Inside filter/file: fields of sections, one after the other. They are little-endian and written as they lie in
// memory.

static_assert(std::endian::native == std::endian::little, "fields are written as they lie in memory");

template <typename T>
void put(std::vector<std::byte>& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Takes from the front what is there; the caller has looked at the size.
template <typename T>
T take(std::span<const std::byte>& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

}  // namespace bloomwall::filter
