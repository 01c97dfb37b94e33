// Ids that stand on pages and in logs.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/decision_id.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace bloomwall::proxy {
namespace {

TEST(DecisionIds, AreShortUniqueAndUnlikeTheirNeighbours) {
  DecisionIds ids;
  std::set<std::string> seen;
  for (int i = 0; i < 100'000; ++i) {
    const DecisionId id = ids.next();
    ASSERT_EQ(id.text().size(), 16U);
    ASSERT_EQ(id.text().find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ"), std::string_view::npos);
    seen.emplace(id.text());
  }
  EXPECT_EQ(seen.size(), 100'000U);
  DecisionIds other;
  EXPECT_FALSE(seen.contains(std::string(other.next().text())));
  EXPECT_TRUE(DecisionId().empty());
}

}  // namespace
}  // namespace bloomwall::proxy
