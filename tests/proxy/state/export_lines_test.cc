// The lines of the exports: the same as if each was made anew, and made once.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/export_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "proxy/state/json_members.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

ExceptionItem item_of(std::uint64_t id, std::int64_t until) {
  ExceptionItem item;
  item.exception.id = id;
  item.exception.action = id % 3 == 0 ? filter::Override::Action::deny : filter::Override::Action::allow;
  item.exception.entry = "h" + std::to_string(id) + ".test";
  item.exception.until = until;
  item.created = 1'700'000'000;
  item.why = "a \"quoted\" reason";
  return item;
}

std::string json_of(const std::vector<ExceptionItem>& items) {
  std::string out;
  for (const ExceptionItem& item : items) out += (out.empty() ? "\n" : ",\n") + json_line(to_json(item));
  return out;
}

std::string allowed_of(const std::vector<ExceptionItem>& items, std::int64_t now) {
  std::string out;
  for (const ExceptionItem& item : items) {
    if (const std::string line = allow_line(item, now); !line.empty()) out += line + '\n';
  }
  return out;
}

TEST(ExportLines, SayWhatEachItemSaysOverRandomChanges) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  std::mt19937 random(seed);
  ExportLines lines;
  std::vector<ExceptionItem> items;
  std::uint64_t next_id = 1;
  for (int round = 0; round < 200; ++round) {
    for (unsigned more = random() % 4; more > 0; --more)
      items.push_back(item_of(next_id++, 1000 + static_cast<std::int64_t>(random() % 1000)));
    std::erase_if(items, [&](const ExceptionItem&) { return random() % 8 == 0; });
    if (!items.empty() && random() % 2 == 0) {
      ExceptionItem& changed = items[random() % items.size()];
      changed.until_build = true;
      ++changed.builds;
      lines.forget(changed.exception.id);
    }
    lines.set(items);
    const std::int64_t now = 900 + static_cast<std::int64_t>(random() % 1200);
    ASSERT_EQ(lines.json(), json_of(items)) << "seed " << seed << ", round " << round;
    ASSERT_EQ(lines.allowed(now), allowed_of(items, now)) << "seed " << seed << ", round " << round;
  }
}

// What a change costs among many.
TEST(ExportLines, AreMadeOnce) {
  std::vector<ExceptionItem> items;
  for (std::uint64_t id = 1; id <= 10'000; ++id) items.push_back(item_of(id, filter::Override::kForever));
  ExportLines lines;
  lines.set(items);
  EXPECT_EQ(lines.made(), 10'000U);
  items.erase(items.begin() + 5'000);
  items.push_back(item_of(10'001, filter::Override::kForever));
  lines.set(items);
  EXPECT_EQ(lines.made(), 10'001U);
  lines.forget(7);
  lines.set(items);
  EXPECT_EQ(lines.made(), 10'002U);
}

}  // namespace
}  // namespace bloomwall::proxy
