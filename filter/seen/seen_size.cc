// SPDX-License-Identifier: Apache-2.0
#include "filter/seen/seen_size.h"

#include <algorithm>
#include <limits>

#include "filter/bits/bloom_math.h"

namespace bloomwall::filter {

double seen_error(const Geometry& geometry, std::uint64_t keys) {
  return key_error(geometry.layout, SectionKind::raw, static_cast<double>(keys), geometry.pages);
}

Geometry filling_seen_size(std::uint64_t memory, std::uint64_t keys) {
  const std::uint64_t pages = memory / kPageBytes;
  const Geometry sectors = seen_geometry(Layout::sectors_2x8, pages);
  const Geometry quads = seen_geometry(Layout::lines_4x4, pages);
  return seen_error(quads, keys) < seen_error(sectors, keys) ? quads : sectors;
}

Geometry least_seen_size(std::uint64_t keys, double error) {
  const auto least = static_cast<double>(std::max<std::uint64_t>(keys, 1));
  const auto pages = [&](Layout layout) {
    return pages_for({.layout = layout, .kind = SectionKind::raw, .keys = least}, error);
  };
  const std::uint64_t sectors = pages(Layout::sectors_2x8);
  const std::uint64_t quads = pages(Layout::lines_4x4);
  const bool use_sectors = sectors != 0 && (quads == 0 || sectors <= quads);  // 0: not to be had
  return use_sectors ? seen_geometry(Layout::sectors_2x8, sectors) : seen_geometry(Layout::lines_4x4, quads);
}

std::uint64_t seen_capacity(const Geometry& geometry, double error) {
  const auto meets = [&](std::uint64_t keys) { return seen_error(geometry, keys) <= error; };
  if (!meets(1)) return 0;
  std::uint64_t low = 1;  // meets it
  std::uint64_t high = 2;
  while (meets(high)) {
    low = high;
    if (high > std::numeric_limits<std::uint64_t>::max() / 2) return high;
    high *= 2;
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (meets(middle) ? low : high) = middle;
  }
  return low;
}

// The differential equation d(offered) / d(taken) = 1 / (1 - error(offered)), by Runge and Kutta's method of the fourth
// order.
double seen_offered(const Geometry& geometry, std::uint64_t taken, double most) {
  constexpr unsigned kSteps = 64;
  const auto slope = [&](double offered) {
    const double error = key_error(geometry.layout, SectionKind::raw, std::min(offered, most), geometry.pages);
    return 1 / std::max(1 - error, 1e-6);
  };
  const double step = static_cast<double>(taken) / kSteps;
  double offered = 0;
  for (unsigned i = 0; i < kSteps && offered < most; ++i) {
    const double first = slope(offered);
    const double second = slope(offered + step / 2 * first);
    const double third = slope(offered + step / 2 * second);
    const double fourth = slope(offered + step * third);
    offered += step / 6 * (first + 2 * second + 2 * third + fourth);
  }
  return std::min(offered, most);
}

}  // namespace bloomwall::filter
