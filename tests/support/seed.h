// The seed of a random test: BLOOMWALL_SEED where that is set (decimal), so that a run can be repeated, else a new one.
// It is printed. `.ci/run` sets it, since whether a commit passes depends on no chance.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace bloomwall::test {

inline std::uint32_t test_seed() {
  const char* const given = std::getenv("BLOOMWALL_SEED");
  const auto seed =
      given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
  std::printf("BLOOMWALL_SEED=%u\n", seed);
  return seed;
}

}  // namespace bloomwall::test
