// What is hashed, and how: kinds, marks, variants, the series key and the 128-bit keys made from a URL's parts.
// This page is a part of the file contract ("key derivation 1", FORMAT.md); a changed digit here makes every file
// useless.
// Test vectors: tests/data/key_vectors.tsv (string -> hash -> key -> bit positions).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "filter/kind.h"

namespace bloomwall::filter {

// Directory marks distinguish depths 1..15; 16 stands for 16 and deeper.
inline constexpr unsigned kDeepestMark = 16;

// A variant selects the bits of one question about a host: all variants of one host share its cache lines.
// P and R keys use variant 0.
using Variant = std::uint32_t;
inline constexpr Variant kVariantSuffix = 0;
inline constexpr Variant kVariantExactHost = 1;
inline constexpr Variant kVariantSubdomains = 2;
inline constexpr Variant kVariantMarkUrl = 3;
inline constexpr Variant kVariantMarkQuery = 4;
inline constexpr Variant kVariantMarkDirectory1 = 5;  // depth d is 4 + d, so 5..20
inline constexpr Variant kHostVariantCount = 21;
constexpr Variant host_variant(Kind host_kind) {
  return host_kind == Kind::suffix       ? kVariantSuffix
         : host_kind == Kind::exact_host ? kVariantExactHost
                                         : kVariantSubdomains;
}
constexpr Variant directory_mark(unsigned depth) {  // depth >= 1
  return kVariantMarkDirectory1 - 1 + (depth < kDeepestMark ? depth : kDeepestMark);
}
// Masks of variants.
constexpr std::uint32_t variant_bit(Variant v) { return std::uint32_t{1} << v; }
inline constexpr std::uint32_t kHostKindBits =
    variant_bit(kVariantSuffix) | variant_bit(kVariantExactHost) | variant_bit(kVariantSubdomains);
inline constexpr std::uint32_t kMarkBits = (variant_bit(kHostVariantCount) - 1) & ~kHostKindBits;

struct Hash128 {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

// 32 random bytes a file; only the first 8 (little-endian) seed XXH3, the rest is reserved. Secret: with it one can
// craft URLs that are false positives.
using SeriesKey = std::array<std::uint8_t, 32>;

// How entries with a query (Q) are compared with a request: as their canonical text is, or by their parameters, in one
// spelling (filter/url/plain_query.h). A filter says which; both sides of a comparison must read them in the same way.
enum class QueryReading : std::uint8_t { as_spelt, by_parameters };

// Makes keys for one series. Stateless but for the seed and how queries are read; copy freely; thread-safe. Cost: one
// XXH3-128 each, of at most 64 octets for all but host, hash, raw and segments of more than 48.
class KeyMaker {
 public:
  explicit KeyMaker(const SeriesKey& key, QueryReading queries = QueryReading::as_spelt);
  Hash128 hash(std::string_view bytes) const;  // H128
  Hash128 host(std::string_view canonical_host) const { return hash(canonical_host); }
  Hash128 empty_path() const { return empty_path_; }                    // P0 = H128("")
  Hash128 segment(std::string_view text, const Hash128& parent) const;  // Pi = H128(segment || P(i-1))
  Hash128 url(const Hash128& host, const Hash128& path) const;          // H128('U' || Hh || Pn)
  Hash128 directory(const Hash128& host, const Hash128& prefix) const;  // H128('D' || Hh || Pi)
  Hash128 url_query(const Hash128& host, const Hash128& path,
                    const Hash128& query) const;  // H128('Q' || Hh || Pn || Hq)
  Hash128 raw(std::string_view bytes) const;      // H128('R' || bytes)
  std::uint64_t seed() const { return seed_; }
  QueryReading queries() const { return queries_; }
  // Of the same series. Those of hosts and paths, and hashes of texts, are the same.
  KeyMaker with(QueryReading queries) const {
    KeyMaker out = *this;
    out.queries_ = queries;
    return out;
  }
  // Whether all keys are the same.
  friend bool operator==(const KeyMaker& a, const KeyMaker& b) {
    return a.seed_ == b.seed_ && a.queries_ == b.queries_;
  }

 private:
  std::uint64_t seed_;
  QueryReading queries_;
  Hash128 empty_path_;
};

}  // namespace bloomwall::filter
