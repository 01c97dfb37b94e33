// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/key_collector.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace bloomwall::filter {
namespace {

struct Slot {
  Hash128 key{};
  int value = 0;
};
constexpr unsigned kSkip = 6;
using Table = HashTable<Slot, kSkip>;

TEST(HashTable, HoldsWhatAMapHolds) {
  RamBudget budget(std::uint64_t{1} << 30);
  Table table(budget);
  std::map<Hash128, int> want;
  std::mt19937_64 random(1);
  std::vector<Hash128> keys(7000);  // leading bits equal, as in one shard; some differ in the low half alone
  for (Hash128& key : keys) key = {.lo = random(), .hi = (random() >> kSkip) | (std::uint64_t{5} << (64 - kSkip))};
  for (std::size_t i = 0; i < 1000; ++i) keys[i].hi = keys[i + 1000].hi;
  for (int i = 0; i < 20000; ++i) {
    const Hash128 key = keys[random() % keys.size()];
    const auto [slot, is_new] = table.find_or_add(key);
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(is_new, want.find(key) == want.end());
    want[key] = slot->value = i;
  }
  EXPECT_EQ(table.size(), want.size());
  for (const auto& [key, value] : want) {
    const Slot* slot = table.find(key);
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(slot->value, value);
  }
  EXPECT_EQ(table.find({.lo = keys[0].lo + 1, .hi = keys[0].hi}), nullptr);
  std::map<Hash128, int> seen;
  table.for_each([&](const Slot& slot) { EXPECT_TRUE(seen.emplace(slot.key, slot.value).second); });
  EXPECT_EQ(seen, want);
}

TEST(HashTable, TheHashThatIsZeroIsAHashLikeAnyOther) {
  RamBudget budget(std::uint64_t{1} << 20);
  Table table(budget);
  EXPECT_EQ(table.find({}), nullptr);
  EXPECT_TRUE(table.find_or_add({}).is_new);
  EXPECT_FALSE(table.find_or_add({}).is_new);
  EXPECT_NE(table.find({}), nullptr);
  EXPECT_EQ(table.size(), 1U);
  int visited = 0;
  table.for_each([&](const Slot&) { ++visited; });
  EXPECT_EQ(visited, 1);
}

TEST(HashTable, WalksInTheOrderOfTheHash) {
  RamBudget budget(std::uint64_t{1} << 30);
  Table table(budget);
  std::mt19937_64 random(2);
  constexpr int kKeys = 10000;
  for (int i = 0; i < kKeys; ++i) table.find_or_add({.lo = random(), .hi = random() >> kSkip});
  std::uint64_t last = 0;
  int back = 0;
  table.for_each([&](const Slot& slot) {
    back += slot.key.hi < last ? 1 : 0;
    last = slot.key.hi;
  });
  EXPECT_LT(back, kKeys * 6 / 10) << "displaced by neighbours only";
  EXPECT_GT(last, (std::uint64_t{1} << (64 - kSkip)) / 100 * 95) << "ends near the greatest hash";
}

TEST(HashTable, StopsWhereTheBudgetEndsAndGivesItBack) {
  RamBudget budget(100'000);
  {
    Table table(budget);
    std::mt19937_64 random(3);
    std::vector<Hash128> in;
    bool full = false;
    for (int i = 0; i < 100'000 && !full; ++i) {
      const Hash128 key{.lo = random(), .hi = random() >> kSkip};
      full = table.find_or_add(key).slot == nullptr;
      if (!full) in.push_back(key);
    }
    EXPECT_TRUE(full);
    EXPECT_GT(in.size(), 100'000 / sizeof(Slot) / 4) << "makes use of what it may take";
    for (const Hash128& key : in) EXPECT_NE(table.find(key), nullptr) << "what was in before stays";
    EXPECT_FALSE(budget.take(90'000));
  }
  EXPECT_TRUE(budget.take(100'000));
}

}  // namespace
}  // namespace bloomwall::filter
