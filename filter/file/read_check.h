// For who asks a filter file without having verified all of it: each page of H, P and R that an answer comes from is
// compared, the first time, with its page sum; of a file without page sums its leaf of 4 MiB with the leaf's XXH3-128.
// Cost: 1 us a page, 0.5 ms a leaf; at the beginning that of reading and digesting the sums (4 bytes a page) or the
// leaves' digests (48 bytes a leaf). Memory: those, and one bit a page.
// Thread-safe: no lock is taken unless something is wrong; a page that two threads read first is compared twice.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
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
  void count_pieces(std::uint64_t pieces);
  std::optional<Error> compare(const SectionEntry& section, std::uint64_t offset) const;
  void note(const Error& wrong);

  const FilterFile& file_;
  PageSums sums_;
  std::vector<LeafDigest> leaves_;  // where there are no sums: of all sections that have them, one after the other
  std::uint64_t pieces_ = 0;        // pages of the file, or leaves in the order of leaves_
  std::vector<std::atomic<std::uint64_t>> checked_;  // a bit for each of them
  std::atomic<bool> is_damaged_ = false;
  mutable std::mutex mutex_;  // of damage_
  std::optional<Error> damage_;
};

}  // namespace bloomwall::filter
