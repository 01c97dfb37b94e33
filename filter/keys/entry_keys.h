// The keys that a filter stores for one entry (filter/FORMAT.md, "Key derivation 1"). Look-ups get the same keys from a
// URL: url_parts.h. Both split hosts and paths by split.h and hash them by KeyMaker; EntrySample compares them in each
// build.
//   S X W   one variant of the host in H
//   U Q D   a mark of the host in H, and a key in P
//   R       a key in R
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "filter/bits/key.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

struct EntryKeys {
  Kind kind = Kind::suffix;
  Hash128 host{};            // all kinds but R
  Variant host_variant = 0;  // of H: the kind itself, or its mark
  Hash128 key{};             // of P for U, Q, D; of R for R
  std::uint32_t depth = 0;   // D: number of segments, at least 1
};

// The host of an entry as a URL that UrlParts can split.
CanonicalUrl host_of(const Entry& entry);

// `host` is the hash of entry.host (ignored for R); linear in the length of path and query. Thread-safe.
EntryKeys keys_of(const KeyMaker& keys, const Entry& entry, const Hash128& host);

}  // namespace bloomwall::filter
