// SPDX-License-Identifier: Apache-2.0
#include "base/figures.h"

#include <gtest/gtest.h>

namespace bloomwall {
namespace {

TEST(Figures, SizesAreReadable) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(999), "999 bytes");
  EXPECT_EQ(size_text(12'384), "12.4 kB");
  EXPECT_EQ(size_text(5'800'000), "5.8 MB");
  EXPECT_EQ(size_text(25'000'000'000), "25.0 GB");
  EXPECT_EQ(size_text(3'200'000'000'000), "3.2 TB");
}

TEST(Figures, ProbabilitiesAreOddsAsWell) {
  EXPECT_EQ(one_in(0), "never");
  EXPECT_EQ(one_in(1), "one in 1 (1.0e+00)");
  EXPECT_EQ(one_in(1e-4), "one in 10,000 (1.0e-04)");
  EXPECT_EQ(one_in(8e-7), "one in 1.2 million (8.0e-07)");
  EXPECT_EQ(one_in(2.91e-11), "one in 34 billion (2.9e-11)");
  EXPECT_EQ(one_in(1e-15), "one in 1000 trillion (1.0e-15)");
  EXPECT_EQ(one_in(5.4e-20), "less than one in 10^18");
}

TEST(Figures, NumbersAreGrouped) {
  EXPECT_EQ(count_text(0, "entry", "entries"), "0 entries");
  EXPECT_EQ(count_text(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(count_text(999, "entry", "entries"), "999 entries");
  EXPECT_EQ(count_text(5'000'000, "entry", "entries"), "5,000,000 entries");
}

}  // namespace
}  // namespace bloomwall
