// SPDX-License-Identifier: Apache-2.0
#include "base/recent_map.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bloomwall {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using Map = RecentMap<std::string, int, TextHash>;

std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map.all()) keys.push_back(key);
  return keys;
}
using Keys = std::vector<std::string>;

TEST(RecentMap, ForgetsWhatWasUsedLeastRecently) {
  Map map(3);
  for (const char* key : {"a", "b", "c"}) map.put(key, key[0]);
  EXPECT_EQ(*map.find(std::string_view("a")), 'a');
  EXPECT_EQ(*map.peek(std::string_view("b")), 'b') << "which is no use";
  map.put("d", 'd');
  EXPECT_EQ(keys_of(map), (Keys{"d", "a", "c"}));
  EXPECT_EQ(map.find("b"), nullptr);
  EXPECT_EQ(map.peek("b"), nullptr);
}

TEST(RecentMap, ReplacesErasesAndClears) {
  Map map(2);
  map.put("a", 1);
  map.put("b", 2);
  EXPECT_EQ(map.put("a", 3), 3);
  EXPECT_EQ(keys_of(map), (Keys{"a", "b"}));
  map.erase("b");
  map.erase("nobody");
  EXPECT_EQ(map.size(), 1U);
  map.clear();
  EXPECT_EQ(map.size(), 0U);
  EXPECT_EQ(map.find("a"), nullptr);
}

TEST(RecentMap, KeepsTheNewestWhateverItsBound) {
  Map map(4);
  for (const char* key : {"a", "b", "c", "d"}) map.put(key, 0);
  map.set_most(2);
  EXPECT_EQ(keys_of(map), (Keys{"d", "c"}));
  map.set_most(0);
  EXPECT_EQ(keys_of(map), (Keys{"d"}));
  map.put("e", 0);
  EXPECT_EQ(keys_of(map), (Keys{"e"}));
}

}  // namespace
}  // namespace bloomwall
