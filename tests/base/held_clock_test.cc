// A clock by which old things are deleted: what it believes, and when.
// SPDX-License-Identifier: Apache-2.0
#include "base/held_clock.h"

#include <gtest/gtest.h>

namespace bloomwall {
namespace {

constexpr std::int64_t kStart = 1'793'620'800'000, kSecond = 1000, kHour = 3600 * kSecond, kDay = 24 * kHour;

TEST(HeldClockTest, FollowsAClockThatGoesAsTimePasses) {
  HeldClock clock;
  for (std::int64_t passed = 0; passed < 100 * kDay; passed += 7 * kHour) {
    ASSERT_EQ(clock.time(kStart + passed, 5 + passed), kStart + passed);
    ASSERT_FALSE(clock.is_held());
  }
}

TEST(HeldClockTest, BelievesAJumpOnceItHasHeldForAnHour) {
  HeldClock clock;
  clock.time(kStart, 0);
  EXPECT_EQ(clock.time(kStart + 400 * kDay, kSecond), kStart + kSecond);
  EXPECT_TRUE(clock.is_held());
  EXPECT_EQ(clock.time(kStart + 400 * kDay + kHour - kSecond, kHour), kStart + kHour);
  EXPECT_EQ(clock.time(kStart + 900 * kDay, kHour + kSecond), kStart + kHour + kSecond) << "another jump";
  EXPECT_EQ(clock.time(kStart + 900 * kDay + kHour, 2 * kHour + kSecond), kStart + 900 * kDay + kHour);
  EXPECT_FALSE(clock.is_held());
}

TEST(HeldClockTest, BelievesAClockThatGoesBackAndSmallSteps) {
  HeldClock clock;
  clock.time(kStart, 0);
  EXPECT_EQ(clock.time(kStart - 400 * kDay, kSecond), kStart - 400 * kDay);
  EXPECT_EQ(clock.time(kStart, 2 * kSecond), kStart - 400 * kDay + kSecond) << "forth again is a jump";
  HeldClock other;
  other.time(kStart, 0);
  EXPECT_EQ(other.time(kStart + kDay, kSecond), kStart + kDay) << "a zone that was wrong";
}

TEST(HeldClockTest, BeginsWithWhatIsOnRecord) {
  HeldClock near(kStart - kHour), far(kStart - 40 * kDay), ahead(kStart + 400 * kDay);
  EXPECT_EQ(near.time(kStart, 9), kStart);
  EXPECT_EQ(far.time(kStart, 9), kStart - 40 * kDay);
  EXPECT_EQ(far.time(kStart + kHour, 9 + kHour), kStart + kHour);
  EXPECT_EQ(ahead.time(kStart, 9), kStart);
}

}  // namespace
}  // namespace bloomwall
