// Which clients are there, and which of them are forgotten first.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/clients_seen.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bloomwall::proxy {
namespace {

using Rows = std::vector<ClientsSeen::Row>;

TEST(ClientsSeen, CountsAndKeepsWhatWasLast) {
  ClientsSeen seen;
  seen.note({.client = "192.0.2.1", .user = "anna", .group = "a", .at = 10});
  seen.note({.client = "192.0.2.2", .user = {}, .group = {}, .is_blocked = true, .at = 11});
  seen.note({.client = "192.0.2.1", .user = "bob", .group = "b", .is_blocked = true, .at = 12});
  seen.note({.client = "", .user = "nobody", .group = {}, .at = 13});
  EXPECT_EQ(seen.rows(), (Rows{{"192.0.2.1", "bob", "b", 2, 1, 10, 12}, {"192.0.2.2", "", "", 1, 1, 11, 11}}));
}

TEST(ClientsSeen, SumsOfSeveralAreAsIfOneHadSeenThem) {
  ClientsSeen one, other;
  one.note({.client = "192.0.2.1", .user = "anna", .group = "a", .at = 20});
  other.note({.client = "192.0.2.1", .user = "bob", .group = "b", .is_blocked = true, .at = 10});
  other.note({.client = "192.0.2.2", .user = {}, .group = {}, .at = 15});
  one.add(other);
  EXPECT_EQ(one.rows(), (Rows{{"192.0.2.1", "anna", "a", 2, 1, 10, 20}, {"192.0.2.2", "", "", 1, 0, 15, 15}}));
  other.add(other);
  EXPECT_EQ(other.rows().front().requests, 2U);
}

TEST(ClientsSeen, ForgetsThoseSeenLongestAgo) {
  ClientsSeen seen;
  constexpr std::int64_t kMost = ClientsSeen::kMost;
  for (std::int64_t i = 0; i < kMost; ++i)
    seen.note({.client = fmt::format("c{}", i), .user = {}, .group = {}, .at = i});
  seen.note({.client = "c0", .user = {}, .group = {}, .at = kMost});
  ClientsSeen more;
  for (std::int64_t i = 0; i < 10; ++i) {
    more.note({.client = fmt::format("d{}", i), .user = {}, .group = {}, .at = kMost + 1 + i});
  }
  seen.add(more);
  const Rows rows = seen.rows();
  ASSERT_EQ(rows.size(), ClientsSeen::kMost);
  EXPECT_EQ(rows.front().client, "d9");
  EXPECT_EQ(rows[10].client, "c0");
  EXPECT_EQ(rows.back().client, "c11");
}

}  // namespace
}  // namespace bloomwall::proxy
