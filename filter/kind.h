// Kinds of entries: what a line of a list stops. The byte value is part of what is hashed and stands in deltas.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace bloomwall::filter {

enum class Kind : char {
  suffix = 'S',      // the host, its subdomains, every path
  exact_host = 'X',  // the host without subdomains, every path; every IP address
  subdomains = 'W',  // subdomains only
  url = 'U',         // host and subdomains, that path, any query
  url_query = 'Q',   // host and subdomains, that path, that query
  directory = 'D',   // host and subdomains, everything under a path that ends in '/'
  raw = 'R',         // exactly these bytes
  network = 'N',     // a range of addresses: exact, no key; judged by literals and by the address that is dialled
};
inline constexpr std::array<Kind, 8> kKinds{Kind::suffix,    Kind::exact_host, Kind::subdomains, Kind::url,
                                            Kind::url_query, Kind::directory,  Kind::raw,        Kind::network};
inline constexpr std::size_t kKindCount = kKinds.size();
// The first of them: kinds whose entries are keys in the bits of H, P or R. Ranges have a section of their own.
inline constexpr std::size_t kKeyKindCount = 7;
constexpr std::size_t index_of(Kind kind) {
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (kKinds[i] == kind) return i;
  }
  return kKindCount;
}
constexpr bool is_host_kind(Kind k) { return k == Kind::suffix || k == Kind::exact_host || k == Kind::subdomains; }
constexpr bool is_path_kind(Kind k) { return k == Kind::url || k == Kind::url_query || k == Kind::directory; }

}  // namespace bloomwall::filter
