// How much memory the set of seen lines gets, and in which layout.
//   entries and fpr   the least memory that meets fpr once `entries` distinct lines are in (default 1e-6)
//   memory            all of it, in the layout that errs less; entries tell what error to expect
//   nothing           kUsualMemory
// Where entries, fpr and memory are given, memory is a limit: unmet_target where the error can't be had in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "filter/bits/section.h"
#include "filter/result.h"

namespace bloomwall::filter {

inline constexpr std::uint64_t kUsualMemory = 200'000'000;
inline constexpr double kUsualDedupError = 1e-6;

struct DedupTarget {
  std::optional<std::uint64_t> entries = {};  // distinct lines expected
  std::optional<std::uint64_t> memory = {};   // bytes, at least a page
  std::optional<double> fpr = {};             // chance that a new line is taken for seen, at the end
};
Result<Geometry> choose_dedup_size(const DedupTarget& target);

// Chance that a new line is taken for seen once `lines` distinct ones are in, and how many of them it was that often
// (the sum of that chance over all of them). Some milliseconds.
double dedup_error(const Geometry& geometry, std::uint64_t lines);
double dedup_losses(const Geometry& geometry, std::uint64_t lines);

}  // namespace bloomwall::filter
