// SPDX-License-Identifier: Apache-2.0
#include "tests/library/random_calls.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace bloomwall::library {
namespace {

TEST(LibraryRandomCalls, KeepWhatTheHeaderPromises) {
  std::mt19937 random(test::test_seed());
  const RandomFiles files;
  std::size_t answered = 0, found_again = 0;
  for (int run = 0; run < 300; ++run) {
    std::vector<std::uint8_t> input(random() % 400);
    // Small numbers choose calls, files and texts that fit; the others are texts of their own.
    for (std::uint8_t& octet : input) octet = static_cast<std::uint8_t>(random() % (random() % 3 == 0 ? 256 : 14));
    if (run % 2 == 0) input.insert(input.begin(), {8, 1, 0});  // bw_open() of a good file
    // A set for 100 raw keys that two are added to, saved, and opened again; then as it comes.
    if (run % 3 == 0) input.insert(input.begin(), {12, 4, 0, 4, 3, 1, 1, 1, 0, 1, 3, 5, 6, 3, 12, 15});
    RandomCalls calls(files, input);
    calls.run();
    answered += calls.answered();
    found_again += calls.found_again();
  }
  EXPECT_GT(answered, 50U);
  EXPECT_GT(found_again, 10U);
}

}  // namespace
}  // namespace bloomwall::library
