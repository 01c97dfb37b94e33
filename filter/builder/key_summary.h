// What the entries of a build come to: the counts from which a filter is sized and its errors are predicted. A strategy that
// can't count exactly fills it with estimates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "filter/file/header.h"
#include "filter/kind.h"

namespace bloomwall::filter {

using DistinctByKind = std::array<std::uint64_t, kKindCount>;  // by index_of(kind)

struct KeySummary {
  bool estimated = false;  // the counts below are within about 1 %; what is covered is not known
  DistinctByKind distinct{};
  std::uint64_t hosts = 0;                      // distinct hosts in H, marked ones too
  std::uint64_t marks = 0;                      // distinct (host, mark) pairs
  std::uint32_t mark_mask = 0;                  // bit v for mark variant v
  std::uint8_t min_labels = 0, max_labels = 0;  // of names in H
  std::uint16_t max_depth = 0;                  // of D entries
  // Under a listed S or W parent: distinct host entries, and path entries (also under their own host's S; duplicates count).
  std::uint64_t covered_hosts = 0, covered_paths = 0;

  std::uint64_t total() const;  // distinct entries
};

// The fields of a header that say how much there is: keys by kind (of one round), marks, hosts, ranges. Entries, which count
// duplicates too, are not touched.
void set_counts(Header& header, const KeySummary& summary);

}  // namespace bloomwall::filter
