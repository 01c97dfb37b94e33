// For who asks a filter file without having verified all of it: each page of H, P and R that an answer comes from is
// compared, the first time, with its page sum; of a file without page sums its leaf of 4 MiB with the leaf's XXH3-128.
// Cost: 1 us a page, 0.5 ms a leaf; at the beginning that of reading and digesting the sums (4 bytes a page) or the
// leaves' digests (48 bytes a leaf). Memory: those, and one bit a page. Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/file/leaves.h"
#include "filter/file/page_sums.h"

namespace bloomwall::filter {

class ReadCheck {
 public:
  // `file` outlives it. Errors: bad_digest, bad_section, too_short, io.
  static Result<std::unique_ptr<ReadCheck>> make(const FilterFile& file);

  // Of the page at this offset of the file, which is one of H, P or R: what is wrong, by the section's name and the
  // bytes concerned.
  std::optional<Error> check(std::uint64_t offset);
  // What was wrong first, if anything was while the file was not lost.
  std::optional<Error> damage() const;

 private:
  explicit ReadCheck(const FilterFile& file) : file_(file) {}
  std::optional<Error> compare(const SectionEntry& section, std::uint64_t offset) const;

  const FilterFile& file_;
  PageSums sums_;
  std::vector<LeafDigest> leaves_;  // where there are no sums: of all sections that have them, one after the other
  mutable std::mutex mutex_;
  std::vector<bool> checked_;  // by page of the file, or by leaf in the order of leaves_
  std::optional<Error> damage_;
};

}  // namespace bloomwall::filter
