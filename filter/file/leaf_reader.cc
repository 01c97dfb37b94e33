// SPDX-License-Identifier: Apache-2.0
#include "filter/file/leaf_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <vector>

#include "filter/parallel.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} * 1024;  // stays in a processor's cache between read and digest
constexpr std::size_t kLeavesAtOnce = 2;                     // a thread; on_leaf is called between two rounds

struct Outcome {
  ReadLeaf leaf;
  std::optional<Error> error;
};

Outcome read_leaf(const LeafRange& range, std::uint64_t index, const OnPiece& on_piece) {
  const std::uint64_t begin = index * kLeafBytes;
  Outcome out;
  out.leaf.offset = range.offset + begin;
  out.leaf.bytes = std::min(kLeafBytes, range.length - begin);
  LeafStream digest(range.with_sha);
  std::array<std::byte, kPieceBytes> buffer;  // NOLINT(*-member-init): read into before it is looked at
  for (std::uint64_t done = 0; done < out.leaf.bytes;) {
    const std::span<std::byte> piece =
        std::span(buffer).first(std::min<std::uint64_t>(kPieceBytes, out.leaf.bytes - done));
    const auto got = range.map.read_at(out.leaf.offset + done, piece);
    if (!got) {
      out.error = got.error();
      return out;
    }
    if (*got < piece.size() || range.map.lost()) {
      out.error = Error{Errc::too_short, range.map.path().string(), "the file shrank while it was open"};
      return out;
    }
    digest.add(piece);
    out.leaf.pieces_hold = on_piece(out.leaf.offset + done, piece) && out.leaf.pieces_hold;
    done += piece.size();
  }
  if (!range.stays_cached) {  // pages that a process has mapped stay
    posix_fadvise(range.map.descriptor(), static_cast<off_t>(out.leaf.offset), static_cast<off_t>(out.leaf.bytes),
                  POSIX_FADV_DONTNEED);
  }
  out.leaf.digest = digest.finish();
  return out;
}

}  // namespace

Result<Roots> read_leaves(const LeafRange& range, const OnPiece& on_piece, const OnLeaf& on_leaf) {
  const std::size_t count = leaf_count(range.length);
  const std::size_t threads =
      std::clamp<std::size_t>(count / kLeavesAtOnce, 1, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<Outcome> outcomes(std::min(count, threads * kLeavesAtOnce));
  RootStream roots;
  for (std::size_t begin = 0; begin < count; begin += outcomes.size()) {
    const std::size_t round = std::min(outcomes.size(), count - begin);
    for_each_index(round, static_cast<unsigned>(threads),
                   [&](std::size_t i) { outcomes[i] = read_leaf(range, begin + i, on_piece); });
    for (std::size_t i = 0; i < round; ++i) {
      if (outcomes[i].error) return unexpected(*outcomes[i].error);
      if (Result<void> ok = on_leaf(outcomes[i].leaf); !ok) return unexpected(std::move(ok).error());
      roots.add(outcomes[i].leaf.digest);
    }
  }
  return roots.finish();
}

}  // namespace bloomwall::filter
