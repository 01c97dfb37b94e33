// SPDX-License-Identifier: Apache-2.0
#include "base/lazy.h"

#include <gtest/gtest.h>

#include <memory>

namespace bloomwall {
namespace {

// Counts those alive; can be neither copied nor moved, as what Lazy is for.
struct Counted {
  explicit Counted(int& alive, int value) : alive_(alive), value_(value) { ++alive_; }
  ~Counted() { --alive_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int& alive_;
  int value_;
};

TEST(Lazy, MakesItsValueOnDemandAndEndsItOnce) {
  int alive = 0;
  {
    Lazy<Counted> lazy;
    EXPECT_FALSE(lazy);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(lazy.emplace(alive, 5).value_, 5);
    EXPECT_TRUE(lazy);
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(lazy->value_, 5);
    lazy.emplace(alive, 6);
    EXPECT_EQ(alive, 1) << "the first one ended";
    EXPECT_EQ((*lazy).value_, 6);
    lazy.reset();
    EXPECT_FALSE(lazy);
    EXPECT_EQ(alive, 0);
    lazy.reset();
    EXPECT_EQ(alive, 0);
    lazy.emplace(alive, 7);
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace bloomwall
