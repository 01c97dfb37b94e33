// Digests of a filter file: each section is cut into leaves of kLeafBytes, each leaf has XXH3-128 (against accidents)
// and SHA-256 (against tampering), and a root of each kind is the digest of the leaves' digests, one after the other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "filter/file/handles.h"
#include "filter/file/header.h"
#include "filter/file/mapped_file.h"
#include "filter/parallel.h"

namespace bloomwall::filter {

using Xxh128 = std::array<std::uint8_t, 16>;
Xxh128 xxh128(std::span<const std::byte> bytes);
std::uint64_t xxh64(std::span<const std::byte> bytes);  // XXH3-64, no seed: of what is too short for 16 octets more

// XXH3-128 and SHA-256 of what comes in pieces. They throw std::bad_alloc where there is no memory for a state.
class Xxh128Stream {
 public:
  Xxh128Stream();
  void add(std::span<const std::byte> bytes);
  Xxh128 finish();  // and start again

 private:
  XxhStatePtr state_;
};

class Sha256Stream {
 public:
  Sha256Stream();
  void add(std::span<const std::byte> bytes);
  Sha256 finish();  // and start again

 private:
  DigestContextPtr context_;
};
Sha256 sha256(std::span<const std::byte> bytes);

struct LeafDigest {
  Xxh128 xxh{};
  Sha256 sha{};
  friend bool operator==(const LeafDigest&, const LeafDigest&) = default;
};
static_assert(sizeof(LeafDigest) == kLeafRecordBytes);
LeafDigest digest_leaf(std::span<const std::byte> leaf);

// The same of a leaf that comes in pieces; without SHA-256 that digest is zero.
class LeafStream {
 public:
  explicit LeafStream(bool with_sha);
  void add(std::span<const std::byte> bytes);
  LeafDigest finish();  // and start again

 private:
  Xxh128Stream xxh_;
  std::optional<Sha256Stream> sha_;
};

// Calls work(i, leaf) for each leaf of a section in memory, by as many threads as there are processors where there is
// enough to do. `work` must not throw.
template <typename Work>
void for_each_leaf(std::span<const std::byte> section, const Work& work) {
  constexpr std::size_t kLeavesPerThread = 8;  // below this a thread costs more than it saves
  const std::size_t count = leaf_count(section.size());
  const std::size_t threads = std::min<std::size_t>(std::thread::hardware_concurrency(), count / kLeavesPerThread);
  for_each_index(count, static_cast<unsigned>(threads), [&](std::size_t i) {
    const std::size_t at = i * kLeafBytes;
    work(i, section.subspan(at, std::min<std::size_t>(kLeafBytes, section.size() - at)));
  });
}
std::vector<LeafDigest> digest_leaves(std::span<const std::byte> section);

struct Roots {
  Xxh128 xxh{};
  Sha256 sha{};
};
// Leaves in their order.
class RootStream {
 public:
  void add(const LeafDigest& leaf);
  Roots finish();

 private:
  Xxh128Stream xxh_;
  Sha256Stream sha_;
};
Roots roots_of(std::span<const LeafDigest> leaves);

// Reads a range of a mapped file leaf by leaf and digests it, on all processors. By read() and not through the mapping,
// so that a failing disk is an error with a name and not a signal.
// Memory: 64 KiB a thread. Throughput: that of the disk, or of the digests on all processors.
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
