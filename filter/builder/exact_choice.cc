// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/exact_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"
#include "filter/file/exact_side.h"

namespace bloomwall::filter {
namespace {

constexpr double kTightBits = 45;  // a URL key in P: what textbooks take at 1e-9

double keys_of_exact_side(const Header& counts) {
  double keys = 0;
  for (std::size_t i = 0; i < kKeyKindCount; ++i) keys += static_cast<double>(counts.kinds[i].keys);
  return keys;
}

bool is_at_the_end(const Demand& demand, const std::optional<Sizing>& sizing) {
  if (!sizing) return path_load(demand.counts, {}).sets > 0;
  const std::optional<Geometry>& paths = sizing->sections.paths;
  return paths && static_cast<double>(paths->bytes()) * 8 > kTightBits * path_load(demand.counts, *paths).sets;
}

}  // namespace

// Fingerprints are equally far from each other in the mean: a page takes as many as fit with the width of the last.
std::uint64_t exact_side_bytes(std::uint64_t keys) {
  constexpr std::uint64_t kPageWithFirst = kExactPageBytes + sizeof(std::uint64_t);
  if (keys == 0) return kExactPageBytes;
  const double gap = std::ldexp(1.0, kExactBits) / static_cast<double>(keys);
  double most = 1;  // a page
  for (unsigned width = 1; width <= kExactBits; ++width) {
    const double by_payload = std::floor(static_cast<double>(kExactPayloadBits) / width);
    most = std::max(most, std::min(by_payload, std::floor(std::ldexp(1.0, static_cast<int>(width)) / gap) + 1));
  }
  const auto pages = static_cast<std::uint64_t>(std::ceil(static_cast<double>(keys) / most));
  return kExactPageBytes + pages * kPageWithFirst;
}

std::optional<ExactChoice> exact_choice(const Demand& demand, double target, const std::optional<Sizing>& sizing) {
  constexpr std::array kTried{1e-4, 1e-5, 1e-6};  // what the bits stop by mistake costs a page of the exact side
  constexpr double kWorthIt = 0.9;
  if (!is_at_the_end(demand, sizing)) return std::nullopt;
  const double keys = keys_of_exact_side(demand.counts);
  const double residual = std::ldexp(keys, -static_cast<int>(kExactBits));
  for (const double fpr : kTried) {
    if (fpr * residual > target) continue;
    const auto looser = size_for_error(demand, fpr);
    if (!looser) continue;
    const ExactChoice choice{.fpr = fpr,
                             .file_bytes = looser->file_bytes,
                             .exact_bytes = exact_side_bytes(static_cast<std::uint64_t>(keys)),
                             .error = fpr * residual};
    if (sizing && static_cast<double>(choice.bytes()) > kWorthIt * static_cast<double>(sizing->file_bytes)) break;
    return choice;
  }
  return std::nullopt;
}

std::string exact_choice_text(const ExactChoice& choice, double target, const std::optional<Sizing>& sizing) {
  const std::string alone = sizing ? fmt::format("takes {}", format_bytes(sizing->file_bytes)) : "is out of reach";
  return fmt::format(
      "an error of {} {} where URL keys have 35 bits; `--fpr {:.0e} --exact-side` makes {} and an exact side of {}, "
      "which "
      "together err on {}",
      format_rate(target), alone, choice.fpr, format_bytes(choice.file_bytes), format_bytes(choice.exact_bytes),
      format_rate(choice.error));
}

}  // namespace bloomwall::filter
