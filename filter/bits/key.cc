// Key derivation 1: format and reasons stand in key.h and ARCHITECTURE.md.
// SPDX-License-Identifier: Apache-2.0

#include "filter/bits/key.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Inlined because keys are short: a call into the shared library costs as much as the hash. Words are put together from
// octets, which GCC makes one load of: its other way is a function that GCC 12 calls for each word.
#define XXH_INLINE_ALL
#define XXH_FORCE_MEMORY_ACCESS 3
#include <xxhash.h>

namespace bloomwall::filter::bits {

// XXH3-128 with a seed of 17 to 64 octets that are at hand as words, and need not lie in memory one after the other.
// Keys are chains of hashes of short texts, each of which ends in the hash before. Put together in memory, their words
// are read across the edges of what was written a moment ago, which a processor can't forward: each link of the chain
// waits for its store. The mixing is the library's own, by the functions that XXH_INLINE_ALL gives. Their names are
// internal: a version without them does not compile. Tests compare the digest with the library's at every length.
// Sixteen octets are a Hash128 here, low half first, little-endian.

__extension__ using Wide = unsigned __int128;

constexpr Wide wide(const Hash128& octets) { return Wide{octets.hi} << 64 | octets.lo; }
constexpr Hash128 octets_of(Wide value) {
  return {.lo = static_cast<std::uint64_t>(value), .hi = static_cast<std::uint64_t>(value >> 64)};
}

// The first `count` octets of `head` (its others are zero), followed by as many octets of `tail` as fit. count <= 16.
constexpr Hash128 spliced(const Hash128& head, std::size_t count, const Hash128& tail) {
  return octets_of(wide(head) | wide(tail) << (4 * count) << (4 * count));  // in two steps: 128 at once is undefined
}

template <typename Word>
std::uint64_t load(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

inline Hash128 load_sixteen(const char* at) {
  return {.lo = load<std::uint64_t>(at), .hi = load<std::uint64_t>(at + 8)};
}

// `count` octets from `at`, none beyond them is read; zeros behind them. 1 <= count <= 16.
inline Hash128 load_octets(const char* at, std::size_t count) {
  if (count > 8) {
    return {.lo = load<std::uint64_t>(at), .hi = load<std::uint64_t>(at + count - 8) >> (8 * (16 - count))};
  }
  if (count >= 4) {
    return {.lo = load<std::uint32_t>(at) | load<std::uint32_t>(at + count - 4) << (8 * (count - 4)), .hi = 0};
  }
  const std::size_t middle = count / 2, last = count - 1;  // some octets twice where there are fewer than three
  return {.lo = load<std::uint8_t>(at) | load<std::uint8_t>(at + middle) << (8 * middle) |
                load<std::uint8_t>(at + last) << (8 * last),
          .hi = 0};
}

// XXH128_mix32B reads octets, and by calls that GCC leaves as such; this is the same of words.
inline std::uint64_t folded(const Hash128& words, std::size_t secret, std::uint64_t seed) {
  std::array<std::uint64_t, 2> secrets;  // NOLINT: written by the next line
  std::memcpy(secrets.data(), XXH3_kSecret + secret, sizeof secrets);
  return XXH3_mul128_fold64(words.lo ^ (secrets[0] + seed), words.hi ^ (secrets[1] - seed));
}
inline XXH128_hash_t mixed(XXH128_hash_t sums, const Hash128& a, const Hash128& b, std::size_t secret,
                           std::uint64_t seed) {
  sums.low64 = (sums.low64 + folded(a, secret, seed)) ^ (b.lo + b.hi);
  sums.high64 = (sums.high64 + folded(b, secret + 16, seed)) ^ (a.lo + a.hi);
  return sums;
}
inline Hash128 finish(const XXH128_hash_t& sums, std::size_t size, std::uint64_t seed) {
  const std::uint64_t high = sums.low64 * XXH_PRIME64_1 + sums.high64 * XXH_PRIME64_4 + (size - seed) * XXH_PRIME64_2;
  return {.lo = XXH3_avalanche(sums.low64 + sums.high64), .hi = 0 - XXH3_avalanche(high)};
}

// 17 to 32 octets: the first sixteen and the last. 33 to 64: the first sixteen, the sixteen after them, those before
// the last, and the last.
inline Hash128 hash_up_to_32(const Hash128& first, const Hash128& last, std::size_t size, std::uint64_t seed) {
  return finish(mixed({size * XXH_PRIME64_1, 0}, first, last, 0, seed), size, seed);
}
inline Hash128 hash_up_to_64(const Hash128& first, const Hash128& second, const Hash128& last_but_one,
                             const Hash128& last, std::size_t size, std::uint64_t seed) {
  const XXH128_hash_t sums = mixed({size * XXH_PRIME64_1, 0}, second, last_but_one, 32, seed);
  return finish(mixed(sums, first, last, 0, seed), size, seed);
}

}  // namespace bloomwall::filter::bits

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

KeyMaker::KeyMaker(const SeriesKey& key, QueryReading queries)
    : seed_(seed_of(key)), queries_(queries), empty_path_(hash({})) {}

// Hosts are of these lengths, and all of them without a call.
Hash128 KeyMaker::hash(std::string_view bytes) const {
  constexpr std::size_t kWord = sizeof(Hash128);
  const char* const at = bytes.data();
  const std::size_t size = bytes.size();
  if (size > 4 * kWord) return of(XXH3_128bits_withSeed(at, size, seed_));
  if (size <= kWord) {
    return of(XXH3_len_0to16_128b(reinterpret_cast<const xxh_u8*>(at), size, XXH3_kSecret, seed_));
  }
  const Hash128 first = bits::load_sixteen(at), last = bits::load_sixteen(at + size - kWord);
  if (size <= 2 * kWord) return bits::hash_up_to_32(first, last, size, seed_);
  return bits::hash_up_to_64(first, bits::load_sixteen(at + kWord), bits::load_sixteen(at + size - 2 * kWord), last,
                             size, seed_);
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
