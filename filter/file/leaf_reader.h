// Reads a range of a mapped file leaf by leaf and digests it, on all processors. By read() and not through the mapping,
// so that a failing disk is an error with a name and not a signal.
// Memory: 64 KiB a thread. Throughput: that of the disk, or of the digests on all processors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "filter/file/leaves.h"
#include "filter/file/mapped_file.h"

namespace bloomwall::filter {

struct LeafRange {
  const MappedFile& map;
  std::uint64_t offset = 0, length = 0;  // of the file
  bool with_sha = false;
  bool stays_cached = true;  // else read pages leave the page cache: they would displace served files
};

struct ReadLeaf {
  std::uint64_t offset = 0, bytes = 0;  // of the file
  LeafDigest digest;                    // SHA-256 where range.with_sha, else zeros
  bool pieces_hold = true;              // what on_piece said of all its pieces
};
// A piece of a leaf, whole pages but for the end of the range. On any thread, in any order.
using OnPiece = std::function<bool(std::uint64_t offset, std::span<const std::byte> piece)>;
// On the caller's thread, leaf by leaf in their order; an error ends the reading.
using OnLeaf = std::function<Result<void>(const ReadLeaf& leaf)>;

// Errors: io, too_short, and those of on_leaf.
Result<Roots> read_leaves(const LeafRange& range, const OnPiece& on_piece, const OnLeaf& on_leaf);

}  // namespace bloomwall::filter
