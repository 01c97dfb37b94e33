// SPDX-License-Identifier: Apache-2.0
#include "filter/file/leaves.h"

#include <xxhash.h>

#include <cstring>
#include <new>

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

}  // namespace bloomwall::filter
