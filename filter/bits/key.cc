// Key derivation 1: format and reasons stand in key.h and ARCHITECTURE.md.
// SPDX-License-Identifier: Apache-2.0
#include "filter/bits/key.h"

#include <bit>
#include <cstring>

#include "filter/bits/short_hash.h"

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

// One octet and the first fifteen of `part`.
Hash128 after_octet(std::uint64_t before, const Hash128& part) {
  return bits::spliced({.lo = before, .hi = 0}, 1, part);
}

// The digest of kind || host || path.
Hash128 hash_kind(std::uint64_t seed, char kind, const Hash128& host, const Hash128& path) {
  constexpr std::size_t kSize = 1 + 2 * sizeof(Hash128);
  const auto octet = static_cast<std::uint8_t>(kind);
  return bits::hash_up_to_64(after_octet(octet, host), after_octet(host.hi >> 56, path), host, path, kSize, seed);
}

}  // namespace

KeyMaker::KeyMaker(const SeriesKey& key) : seed_(seed_of(key)), empty_path_(hash({})) {}

Hash128 KeyMaker::hash(std::string_view bytes) const {
  return of(XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed_));
}

Hash128 KeyMaker::segment(std::string_view text, const Hash128& parent) const {
  constexpr std::size_t kWord = sizeof parent;
  const char* const at = text.data();
  const std::size_t size = text.size();
  if (size == 0 || size > 3 * kWord) {
    std::array<char, kWord> bytes;  // NOLINT: written by the next line
    std::memcpy(bytes.data(), &parent, kWord);
    return hash_joined(seed_, text, {bytes.data(), bytes.size()});
  }
  const auto ending = [&](std::size_t from) {  // of the text, from there on, and of the parent
    return bits::spliced(bits::load_octets(at + from, size - from), size - from, parent);
  };
  if (size <= kWord) return bits::hash_up_to_32(ending(0), parent, size + kWord, seed_);
  const Hash128 second = size <= 2 * kWord ? ending(kWord) : bits::load_sixteen(at + kWord);
  return bits::hash_up_to_64(bits::load_sixteen(at), second, bits::load_sixteen(at + size - kWord), parent,
                             size + kWord, seed_);
}

Hash128 KeyMaker::url(const Hash128& host, const Hash128& path) const { return hash_kind(seed_, 'U', host, path); }

Hash128 KeyMaker::directory(const Hash128& host, const Hash128& prefix) const {
  return hash_kind(seed_, 'D', host, prefix);
}

Hash128 KeyMaker::url_query(const Hash128& host, const Hash128& path, const Hash128& query) const {
  constexpr std::size_t kSize = 1 + 3 * sizeof(Hash128);
  return bits::hash_up_to_64(after_octet('Q', host), after_octet(host.hi >> 56, path), path, query, kSize, seed_);
}

Hash128 KeyMaker::raw(std::string_view bytes) const { return hash_joined(seed_, "R", bytes); }

}  // namespace bloomwall::filter
