// Key derivation 1: format and reasons stand in key.h and ARCHITECTURE.md.
// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/key.h"

#include <bit>
#include <cstring>

// Inlined because keys are short: a call into the shared library costs as much as the hash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace bloomwall::filter {
namespace {

static_assert(std::endian::native == std::endian::little, "128-bit values are written as they lie in memory");
static_assert(sizeof(Hash128) == 16);

// Longer texts are hashed in pieces: same digest, a few hundred nanoseconds more.
constexpr std::size_t kStackBytes = 512;

Hash128 of(XXH128_hash_t h) { return {.lo = h.low64, .hi = h.high64}; }

std::uint64_t seed_of(const SeriesKey& key) {
  std::uint64_t seed = 0;
  std::memcpy(&seed, key.data(), sizeof seed);
  return seed;
}

// The digest of head || tail, without allocating.
Hash128 hash_joined(std::uint64_t seed, std::string_view head, std::string_view tail) {
  if (head.size() + tail.size() <= kStackBytes) {
    std::array<char, kStackBytes> joined;  // NOLINT: every byte that is hashed is written first
    std::memcpy(joined.data(), head.data(), head.size());
    if (!tail.empty()) std::memcpy(joined.data() + head.size(), tail.data(), tail.size());
    return of(XXH3_128bits_withSeed(joined.data(), head.size() + tail.size(), seed));
  }
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset_withSeed(&state, seed);
  XXH3_128bits_update(&state, head.data(), head.size());
  XXH3_128bits_update(&state, tail.data(), tail.size());
  return of(XXH3_128bits_digest(&state));
}

// One kind byte followed by hashes, low half first.
template <std::size_t N>
Hash128 hash_kind(std::uint64_t seed, char kind, const std::array<const Hash128*, N>& parts) {
  std::array<char, 1 + N * sizeof(Hash128)> bytes{kind};
  for (std::size_t i = 0; i < N; ++i) {
    std::memcpy(bytes.data() + 1 + i * sizeof(Hash128), parts[i], sizeof(Hash128));
  }
  return of(XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed));
}

}  // namespace

KeyMaker::KeyMaker(const SeriesKey& key) : seed_(seed_of(key)), empty_path_(hash({})) {}

Hash128 KeyMaker::hash(std::string_view bytes) const {
  return of(XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed_));
}

Hash128 KeyMaker::segment(std::string_view text, const Hash128& parent) const {
  std::array<char, sizeof parent> bytes;  // NOLINT: written by the next line
  std::memcpy(bytes.data(), &parent, sizeof parent);
  return hash_joined(seed_, text, {bytes.data(), bytes.size()});
}

Hash128 KeyMaker::url(const Hash128& host, const Hash128& path) const {
  return hash_kind<2>(seed_, 'U', {&host, &path});
}

Hash128 KeyMaker::directory(const Hash128& host, const Hash128& prefix) const {
  return hash_kind<2>(seed_, 'D', {&host, &prefix});
}

Hash128 KeyMaker::url_query(const Hash128& host, const Hash128& path, const Hash128& query) const {
  return hash_kind<3>(seed_, 'Q', {&host, &path, &query});
}

Hash128 KeyMaker::raw(std::string_view bytes) const { return hash_joined(seed_, "R", bytes); }

}  // namespace bloomwall::filter
