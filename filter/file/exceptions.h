// Section E of a .bwf file: keys of known-good URLs that are false positives. A hit on a key of this section does not
// count. The exception is for the key, not for the URL: other URLs with the same host or folder benefit, too.
//   offset  size  field
//   0       4     magic "BWE1"
//   4       4     bytes a record, u32: 24
//   8       8     records, u64, 1 to kMaxExceptions
//   16      24n   records, strictly ascending by (hi, lo)
// A record, all of it little-endian:
//   0       8     hi of the key
//   8       8     lo
//   16      4     kinds, u32: bit i for kKinds[i], i < kKeyKindCount. S, X, W: the key is the hash of a host, and these
//                 kinds of it are excepted; U, Q, D, R: the key is that of the expression, and has that kind alone
//   20      4     zero
// Not critical: a reader that skips the section has more false positives and no false negatives. Held in RAM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "filter/bits/key.h"
#include "filter/result.h"

namespace bloomwall::filter {

inline constexpr std::uint64_t kMaxExceptions = std::uint64_t{1} << 22;  // 96 MiB
inline constexpr std::size_t kExceptionHeaderBytes = 16;
inline constexpr std::size_t kExceptionBytes = 24;

using KindMask = std::uint32_t;
constexpr KindMask kind_bit(Kind kind) { return KindMask{1} << index_of(kind); }
inline constexpr KindMask kHostKindMask =
    kind_bit(Kind::suffix) | kind_bit(Kind::exact_host) | kind_bit(Kind::subdomains);

struct Exception {
  Hash128 key;
  KindMask kinds = 0;
  friend bool operator==(const Exception&, const Exception&) = default;
};
constexpr bool in_file_order(const Hash128& a, const Hash128& b) { return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo; }

// Immutable; thread-safe. Memory: 24 bytes an exception.
class Exceptions {
 public:
  Exceptions() = default;
  // `sorted` as the records of the file.
  explicit Exceptions(std::vector<Exception> sorted) : sorted_(std::move(sorted)) {}
  // Hostile bytes. Errors: bad_section.
  static Result<Exceptions> parse(std::span<const std::byte> section);

  // Kinds that are excepted for this key; 0: none. Asked of positives only; a binary search.
  KindMask of(const Hash128& key) const;
  bool empty() const { return sorted_.empty(); }
  std::size_t size() const { return sorted_.size(); }
  std::span<const Exception> all() const { return sorted_; }

 private:
  std::vector<Exception> sorted_;
};

// The bytes of the section; `sorted` as the records. Empty where there is none.
std::vector<std::byte> serialise_exceptions(std::span<const Exception> sorted);

class FilterFile;

// The exceptions of a merge: of those that inputs have, and of `more` that test positive in what the inputs become
// together, the ones that every input has or tests negative for. What tests negative is surely not listed, and what was
// made an exception neither. Inputs are of one series; a key is asked in the inputs that lack it, so their bytes must
// be right (verify). Errors: limit, where there are more than a file can hold.
Result<std::vector<Exception>> merged_exceptions(std::span<const FilterFile* const> inputs,
                                                 std::span<const Exception> more = {});

}  // namespace bloomwall::filter
