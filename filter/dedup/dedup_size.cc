// SPDX-License-Identifier: Apache-2.0
#include "filter/dedup/dedup_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "filter/bits/bloom_math.h"
#include "filter/builder/quantity.h"

namespace bloomwall::filter {
namespace {

// One segment: nothing is partitioned here.
Geometry of_pages(Layout layout, std::uint64_t pages) { return {.layout = layout, .pages = pages}; }

Geometry filling(std::uint64_t memory, std::uint64_t entries) {
  const std::uint64_t pages = memory / kPageBytes;
  const Geometry sectors = of_pages(Layout::sectors_2x8, pages);
  const Geometry quads = of_pages(Layout::lines_4x4, pages);
  return dedup_error(quads, entries) < dedup_error(sectors, entries) ? quads : sectors;
}

Geometry meeting(std::uint64_t entries, double fpr) {
  const auto keys = static_cast<double>(std::max<std::uint64_t>(entries, 1));
  const auto pages = [&](Layout layout) {
    return pages_for({.layout = layout, .kind = SectionKind::raw, .keys = keys}, fpr);
  };
  const std::uint64_t sectors = pages(Layout::sectors_2x8);
  const std::uint64_t quads = pages(Layout::lines_4x4);
  const bool use_sectors = sectors != 0 && (quads == 0 || sectors <= quads);  // 0: not to be had
  return use_sectors ? of_pages(Layout::sectors_2x8, sectors) : of_pages(Layout::lines_4x4, quads);
}

constexpr std::uint64_t kUsualBits = 32;  // per line, where only the memory is known

}  // namespace

double dedup_error(const Geometry& geometry, std::uint64_t lines) {
  return key_error(geometry.layout, SectionKind::raw, static_cast<double>(lines), geometry.pages);
}

// Simpson's rule: the chance grows smoothly from 0.
double dedup_losses(const Geometry& geometry, std::uint64_t lines) {
  constexpr unsigned kSteps = 32;
  double sum = 0;
  for (unsigned i = 0; i <= kSteps; ++i) {
    const double weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
    const double at = static_cast<double>(lines) * i / kSteps;
    sum += weight * key_error(geometry.layout, SectionKind::raw, at, geometry.pages);
  }
  return sum * static_cast<double>(lines) / (3 * kSteps);
}

Result<Geometry> choose_dedup_size(const DedupTarget& target) {
  if (target.memory && (*target.memory < kPageBytes || *target.memory / kPageBytes > kMaxPages)) {
    return unexpected(Error{Errc::usage, "--memory", fmt::format("at least {} are needed", format_bytes(kPageBytes))});
  }
  if (target.entries && (target.fpr || !target.memory)) {
    const double fpr = target.fpr.value_or(kUsualDedupError);
    const Geometry least = meeting(*target.entries, fpr);
    if (least.pages == 0) {
      return unexpected(Error{Errc::unmet_target, "--fpr", "no size gives so small an error for so many lines"});
    }
    if (!target.memory) return least;
    if (least.bytes() > *target.memory) {
      return unexpected(
          Error{Errc::unmet_target, "--memory",
                fmt::format("{} lines need {} for an error of {}; {} are allowed", format_count(*target.entries),
                            format_bytes(least.bytes()), format_rate(fpr), format_bytes(*target.memory))});
    }
  }
  const std::uint64_t memory = target.memory.value_or(kUsualMemory);
  return filling(memory, target.entries.value_or(memory * 8 / kUsualBits));
}

}  // namespace bloomwall::filter
