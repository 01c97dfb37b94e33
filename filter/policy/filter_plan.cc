// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/filter_plan.h"

#include <limits>

namespace bloomwall::filter {

FilterPlan::FilterPlan(const FilterFile& file) {
  const Header& header = file.header();
  const auto counts = [&](Kind kind) -> const KindCounts& { return header.kinds[index_of(kind)]; };
  const auto bit_if_any = [&](Kind kind) {
    const bool any = counts(kind).entries != 0 || counts(kind).keys != 0;
    return any ? variant_bit(host_variant(kind)) : 0;
  };
  if (!file.hosts()) return;
  const std::uint32_t marks = file.paths() ? header.mark_mask & kMarkBits : 0;
  whole = bit_if_any(Kind::suffix) | bit_if_any(Kind::exact_host) | marks;
  parent = bit_if_any(Kind::suffix) | bit_if_any(Kind::subdomains) | marks;
  address = bit_if_any(Kind::exact_host) | marks;
  min_labels = header.min_labels;
  max_labels = header.max_labels == 0 ? std::numeric_limits<std::size_t>::max() : header.max_labels;
  // 65535 stands for that depth and any beyond it.
  constexpr auto kCapped = std::numeric_limits<std::uint16_t>::max();
  max_depth = header.max_depth == kCapped ? std::numeric_limits<std::size_t>::max() : header.max_depth;
}

}  // namespace bloomwall::filter
