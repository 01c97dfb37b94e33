// SPDX-License-Identifier: Apache-2.0

#include "filter/file/leaves.h"

#include <fcntl.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "filter/parallel.h"

namespace bloomwall::filter {
namespace {

void require(int openssl_result) {
  if (openssl_result != 1) throw std::bad_alloc();  // the only way these calls fail with SHA-256 present
}

Xxh128 in_file_order(const XXH128_hash_t& hash) {
  Xxh128 out{};
  std::memcpy(out.data(), &hash.low64, 8);
  std::memcpy(out.data() + 8, &hash.high64, 8);
  return out;
}

}  // namespace

Xxh128 xxh128(std::span<const std::byte> bytes) { return in_file_order(XXH3_128bits(bytes.data(), bytes.size())); }

std::uint64_t xxh64(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Xxh128Stream::Xxh128Stream() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void Xxh128Stream::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

Xxh128 Xxh128Stream::finish() {
  const Xxh128 out = in_file_order(XXH3_128bits_digest(state_.get()));
  XXH3_128bits_reset(state_.get());
  return out;
}

Sha256Stream::Sha256Stream() : context_(EVP_MD_CTX_new()) {
  if (!context_) throw std::bad_alloc();
  require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void Sha256Stream::add(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

Sha256 Sha256Stream::finish() {
  Sha256 out{};
  require(EVP_DigestFinal_ex(context_.get(), out.data(), nullptr));
  require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
  return out;
}

Sha256 sha256(std::span<const std::byte> bytes) {
  Sha256Stream stream;
  stream.add(bytes);
  return stream.finish();
}

LeafDigest digest_leaf(std::span<const std::byte> leaf) { return {.xxh = xxh128(leaf), .sha = sha256(leaf)}; }

LeafStream::LeafStream(bool with_sha) {
  if (with_sha) sha_.emplace();
}

void LeafStream::add(std::span<const std::byte> bytes) {
  xxh_.add(bytes);
  if (sha_) sha_->add(bytes);
}

LeafDigest LeafStream::finish() { return {.xxh = xxh_.finish(), .sha = sha_ ? sha_->finish() : Sha256{}}; }

std::vector<LeafDigest> digest_leaves(std::span<const std::byte> section) {
  std::vector<LeafDigest> out(leaf_count(section.size()));
  for_each_leaf(section, [&](std::size_t i, std::span<const std::byte> leaf) { out[i] = digest_leaf(leaf); });
  return out;
}

void RootStream::add(const LeafDigest& leaf) {
  xxh_.add(std::as_bytes(std::span(leaf.xxh)));
  sha_.add(std::as_bytes(std::span(leaf.sha)));
}

Roots RootStream::finish() { return {.xxh = xxh_.finish(), .sha = sha_.finish()}; }

Roots roots_of(std::span<const LeafDigest> leaves) {
  RootStream stream;
  for (const LeafDigest& leaf : leaves) stream.add(leaf);
  return stream.finish();
}

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
