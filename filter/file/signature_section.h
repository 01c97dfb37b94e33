// Section `signatures` of a .bwf file: signatures of any algorithm and length beside the eight slots of the header, for
// algorithms to come (one of ML-DSA takes 2.4 to 4.6 KB) and for more signers than there are slots.
//   offset  size  field (little-endian)
//   0       4     magic "BWS1"
//   4       4     signatures, u32: 1 to kMaxLongSignatures
//   8             records, one after the other:
//     0     4     algorithm, u32, not 0; one that a reader does not know is passed over
//     4     4     parameter, u32
//     8     16    key id
//     24    4     octets of the signature, u32: 1 to kMaxSignatureBytes
//     28    4     zero
//     32          the signature, and zeros up to a multiple of 8
// It is the last section of the table and of the file and has no records in the section of leaves: added to a signed
// file, it leaves what is signed as it was (header_bytes.h, without_signatures). Not critical.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "filter/file/header.h"

namespace bloomwall::filter {

inline constexpr std::size_t kMaxLongSignatures = 64;
inline constexpr std::size_t kMaxSignatureBytes = 65536;

struct LongSignature {
  std::uint32_t algorithm = 0;
  std::uint32_t parameter = 0;
  KeyId key_id{};
  std::vector<std::uint8_t> bytes;
  friend bool operator==(const LongSignature&, const LongSignature&) = default;
};

// Hostile bytes. Errors: bad_section.
Result<std::vector<LongSignature>> parse_signatures(std::span<const std::byte> section);
// 1 to kMaxLongSignatures of them, each within its bounds.
std::vector<std::byte> serialise_signatures(std::span<const LongSignature> signatures);

}  // namespace bloomwall::filter
