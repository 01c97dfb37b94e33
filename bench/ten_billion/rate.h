// A share seen in trials, with the interval in which the true one lies: Wilson's score interval at 99 %, which holds
// for a handful of hits and for none at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace bloomwall::bench {

struct Rate {
  std::uint64_t hits = 0, trials = 0;
  double value() const { return trials == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(trials); }
  double low() const { return std::max(0.0, centre() - half_width()); }
  double high() const { return trials == 0 ? 1 : std::min(1.0, centre() + half_width()); }

 private:
  static constexpr double kZ = 2.5758293035489004;  // the normal distribution's 99.5th percentile: 0.5 % on each side
  double n() const { return static_cast<double>(std::max<std::uint64_t>(trials, 1)); }
  double centre() const { return (value() + kZ * kZ / (2 * n())) / (1 + kZ * kZ / n()); }
  double half_width() const {
    const double p = value();
    return kZ / (1 + kZ * kZ / n()) * std::sqrt(p * (1 - p) / n() + kZ * kZ / (4 * n() * n()));
  }
};

}  // namespace bloomwall::bench
