// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/timer_wheel.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace bloomwall::proxy {
namespace {

Milliseconds hands{0};  // of the test's clock
Milliseconds test_clock() { return hands; }

struct Alarm {
  explicit Alarm(TimerWheel& wheel) : timer(wheel, [](void* self) { static_cast<Alarm*>(self)->ring(); }, this) {}
  void ring() { rung_at.push_back(hands.count()); }
  std::vector<std::int64_t> rung_at;
  Timer timer;
};

class TimerWheelTest : public testing::Test {
 protected:
  TimerWheelTest() {
    hands = Milliseconds(123'456);
    wheel = std::make_unique<TimerWheel>(test_clock);
  }
  // Turns the hands tick by tick, as the loop does.
  void pass(std::int64_t ms) {
    const Milliseconds until = hands + Milliseconds(ms);
    while (hands < until) {
      hands = std::min(hands + Milliseconds(TimerWheel::kTick), until);
      wheel->advance();
    }
  }
  std::unique_ptr<TimerWheel> wheel;
};

TEST_F(TimerWheelTest, FiresOnceNeverEarlyAndAtMostTwoTicksLate) {
  for (const std::int64_t after : {0, 1, 49, 50, 51, 99, 1000, 51'199, 51'200, 51'201, 102'400, 600'000}) {
    Alarm alarm(*wheel);
    const std::int64_t start = hands.count();
    alarm.timer.set(Milliseconds(after));
    EXPECT_TRUE(alarm.timer.is_set());
    pass(after + 3 * TimerWheel::kTick);
    ASSERT_EQ(alarm.rung_at.size(), 1u) << after;
    EXPECT_GT(alarm.rung_at[0], start + after) << after;
    EXPECT_LE(alarm.rung_at[0], start + after + 2 * TimerWheel::kTick) << after;
    EXPECT_FALSE(alarm.timer.is_set());
  }
  EXPECT_TRUE(wheel->empty());
}

TEST_F(TimerWheelTest, ALaterDeadlineReplacesTheEarlierOne) {
  Alarm alarm(*wheel);
  alarm.timer.set(Milliseconds(200));
  pass(150);
  alarm.timer.set(Milliseconds(200));
  pass(150);
  EXPECT_TRUE(alarm.rung_at.empty());
  pass(200);
  EXPECT_EQ(alarm.rung_at.size(), 1u);
}

TEST_F(TimerWheelTest, AnEarlierDeadlineReplacesTheLaterOne) {
  Alarm alarm(*wheel);
  alarm.timer.set(Milliseconds(60'000));
  alarm.timer.set(Milliseconds(100));
  pass(250);
  EXPECT_EQ(alarm.rung_at.size(), 1u);
  pass(70'000);
  EXPECT_EQ(alarm.rung_at.size(), 1u);
}

TEST_F(TimerWheelTest, ClearedAndDestroyedTimersStaySilent) {
  Alarm cleared(*wheel);
  cleared.timer.set(Milliseconds(100));
  cleared.timer.clear();
  {
    Alarm destroyed(*wheel);
    destroyed.timer.set(Milliseconds(100));
  }
  pass(1000);
  EXPECT_TRUE(cleared.rung_at.empty());
  EXPECT_TRUE(wheel->empty());
}

TEST_F(TimerWheelTest, ACallbackMaySetClearAndDestroyOthersOfTheSameTick) {
  struct Chain {
    explicit Chain(TimerWheel& wheel)
        : victim(std::make_unique<Alarm>(wheel)),
          cleared(wheel),
          again(wheel),
          first(wheel, [](void* self) { static_cast<Chain*>(self)->act(); }, this) {}
    void act() {
      victim.reset();
      cleared.timer.clear();
      again.timer.set(Milliseconds(0));
    }
    std::unique_ptr<Alarm> victim;
    Alarm cleared, again;
    Timer first;
  } chain(*wheel);
  chain.first.set(Milliseconds(100));
  chain.victim->timer.set(Milliseconds(100));
  chain.cleared.timer.set(Milliseconds(100));
  pass(300);
  EXPECT_TRUE(chain.cleared.rung_at.empty());
  EXPECT_EQ(chain.again.rung_at.size(), 1u);
}

TEST_F(TimerWheelTest, ALoopThatWasStoppedForLongFiresEverythingOnce) {
  std::vector<std::unique_ptr<Alarm>> alarms;
  for (int i = 0; i < 2000; ++i) {
    alarms.push_back(std::make_unique<Alarm>(*wheel));
    alarms.back()->timer.set(Milliseconds(i * 37));
  }
  hands += Milliseconds(500'000);
  wheel->advance();
  for (const auto& alarm : alarms) ASSERT_EQ(alarm->rung_at.size(), 1u);
}

TEST_F(TimerWheelTest, RandomSetsAndMovesEndAtTheLastDeadline) {
  constexpr unsigned kSeed = 20240501;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  std::vector<std::unique_ptr<Alarm>> alarms;
  std::vector<std::int64_t> due(300, -1);
  for (std::size_t i = 0; i < due.size(); ++i) alarms.push_back(std::make_unique<Alarm>(*wheel));
  for (int round = 0; round < 3000; ++round) {
    const std::size_t i = random() % due.size();
    if (alarms[i]->rung_at.empty()) {
      const auto after = static_cast<std::int64_t>(random() % 120'000);
      alarms[i]->timer.set(Milliseconds(after));
      due[i] = hands.count() + after;
    }
    pass(static_cast<std::int64_t>(random() % 60));
  }
  pass(130'000);
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (due[i] < 0) continue;
    ASSERT_EQ(alarms[i]->rung_at.size(), 1u) << i;
    EXPECT_GT(alarms[i]->rung_at[0], due[i]) << i;
    EXPECT_LE(alarms[i]->rung_at[0], due[i] + 2 * TimerWheel::kTick) << i;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
