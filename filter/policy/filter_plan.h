// What can be asked of one filter at all, worked out from its header once, so that a request is asked only that.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "filter/file/filter_file.h"

namespace bloomwall::filter {

constexpr std::uint32_t variant_bit(Variant v) { return std::uint32_t{1} << v; }
inline constexpr std::uint32_t kHostKindBits =
    variant_bit(kVariantSuffix) | variant_bit(kVariantExactHost) | variant_bit(kVariantSubdomains);
inline constexpr std::uint32_t kMarkBits = (variant_bit(kHostVariantCount) - 1) & ~kHostKindBits;

struct FilterPlan {
  explicit FilterPlan(const FilterFile& file);

  // Variants asked of a host itself, of each of its parents, and of an address: kinds and marks that the file holds.
  std::uint32_t whole = 0, parent = 0, address = 0;
  // Labels of the host names in H: any where the header knows no range; an empty range (1, 0) where there is no H. Addresses
  // are always asked.
  std::size_t min_labels = 1, max_labels = 0;
  std::size_t max_depth = 0;  // of D entries
};

}  // namespace bloomwall::filter
