// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/group_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace bloomwall::proxy {
namespace {

std::vector<conf::Listener> listeners(const std::vector<std::string>& addresses) {
  std::vector<conf::Listener> out;
  for (const std::string& address : addresses) out.emplace_back().address = address;
  return out;
}

conf::Group group(std::vector<std::string> clients, std::vector<std::string> of = {}) {
  conf::Group made;
  made.name = "g";
  made.clients = std::move(clients);
  made.listeners = std::move(of);
  return made;
}

GroupTable table(const std::vector<conf::Group>& groups,
                 const std::vector<std::string>& addresses = {"127.0.0.1:1", "127.0.0.1:2"}) {
  return GroupTable::build(groups, listeners(addresses)).value();
}

std::size_t ask(const GroupTable& of, const std::string& client, const std::string& listener = "127.0.0.1:1") {
  return of.group_of(Address::parse(client).value(), listener, {});
}

conf::Group group_of_users(std::vector<std::string> users, std::vector<std::string> user_groups = {},
                           std::vector<std::string> clients = {}) {
  conf::Group made = group(std::move(clients));
  made.users = std::move(users);
  made.user_groups = std::move(user_groups);
  return made;
}

std::size_t ask_as(const GroupTable& of, const std::string& user, const std::vector<std::string>& user_groups,
                   const std::string& client = "10.0.0.1") {
  return of.group_of(Address::parse(client).value(), "127.0.0.1:1", {.user = user, .user_groups = user_groups});
}

TEST(GroupTable, OrderDecidesAndNeverHowNarrowANetworkIs) {
  const GroupTable of =
      table({group({"10.2.0.0/16"}), group({"10.2.3.4", "192.0.2.0/24", "2001:db8::/32"}), group({"10.0.0.0/8"})});
  EXPECT_EQ(ask(of, "10.2.3.4"), 0U);
  EXPECT_EQ(ask(of, "192.0.2.255"), 1U);
  EXPECT_EQ(ask(of, "2001:db8::1"), 1U);
  EXPECT_EQ(ask(of, "10.3.0.0"), 2U);
  EXPECT_EQ(ask(of, "10.1.255.255"), 2U);
  EXPECT_EQ(ask(of, "9.255.255.255"), 3U);
  EXPECT_EQ(ask(of, "11.0.0.0"), 3U);
  EXPECT_EQ(ask(of, "::1"), 3U) << "nobody's";
  EXPECT_EQ(of.unreachable(), std::vector<std::size_t>{}) << "the second has other networks";
}

TEST(GroupTable, EveryCriterionMustHold) {
  const GroupTable of =
      table({group({"10.0.0.0/8"}, {"127.0.0.1:2"}), group({}, {"127.0.0.1:2"}), group({"10.1.0.0/16"}), group({})});
  EXPECT_EQ(ask(of, "10.1.1.1", "127.0.0.1:2"), 0U);
  EXPECT_EQ(ask(of, "11.1.1.1", "127.0.0.1:2"), 1U);
  EXPECT_EQ(ask(of, "10.1.1.1", "127.0.0.1:1"), 2U);
  EXPECT_EQ(ask(of, "10.2.1.1", "127.0.0.1:1"), 3U) << "the last takes all that are left";
  EXPECT_EQ(ask(of, "10.1.1.1", "127.0.0.1:9"), 2U) << "a listener that the configuration does not name any more";
}

TEST(GroupTable, NobodyIsLeft) {
  EXPECT_EQ(table({group({"127.0.0.0/8"}), group({"127.0.0.2"})}).unreachable(), (std::vector<std::size_t>{1}));
  EXPECT_EQ(table({group({"0.0.0.0/1", "128.0.0.0/1"}), group({"10.0.0.0/8"}), group({})}).unreachable(),
            (std::vector<std::size_t>{1}));
  EXPECT_EQ(
      table({group({}, {"127.0.0.1:1"}), group({"10.0.0.0/8"}, {"127.0.0.1:1"}), group({"10.0.0.0/8"})}).unreachable(),
      (std::vector<std::size_t>{1}));
  EXPECT_EQ(table({group({"::/0"}), group({})}).unreachable(), (std::vector<std::size_t>{1}));
}

TEST(GroupTable, WhoHasLoggedInCounts) {
  const GroupTable of = table({group_of_users({"anna", "bob"}, {"staff"}), group_of_users({}, {"class 7b", "staff"}),
                               group_of_users({"carl"}, {}, {"10.2.0.0/16"}), group({"10.0.0.0/8"})});
  EXPECT_EQ(ask_as(of, "anna", {"staff"}), 0U);
  EXPECT_EQ(ask_as(of, "anna", {}), 3U) << "both criteria must hold";
  EXPECT_EQ(ask_as(of, "anna", {"class 7b", "chess"}), 1U);
  EXPECT_EQ(ask_as(of, "dora", {"staff"}), 1U);
  EXPECT_EQ(ask_as(of, "Anna", {"Staff"}), 3U) << "octet by octet";
  EXPECT_EQ(ask_as(of, "carl", {}, "10.2.1.1"), 2U);
  EXPECT_EQ(ask_as(of, "carl", {}, "10.3.1.1"), 3U);
  EXPECT_EQ(ask_as(of, "carl", {}, "11.3.1.1"), 4U);
  EXPECT_EQ(ask(of, "10.2.1.1"), 3U) << "nobody has logged in";
  EXPECT_EQ(of.unreachable(), std::vector<std::size_t>{});
}

TEST(GroupTable, TheCertificateOfTheClientCounts) {
  std::vector<conf::Group> groups(2);
  groups[0].certificates = {"cn:kiosk 3", "uri:https://id.test/3"};
  groups[1].certificates = {"dns:desk.test"};
  groups[1].users = {"anna"};
  const GroupTable of = table(groups);
  const auto ask_with = [&](const std::vector<std::string>& names, const std::string& user = "") {
    return of.group_of(Address::parse("10.0.0.1").value(), "127.0.0.1:1", {.user = user, .certificate = names});
  };
  EXPECT_EQ(ask_with({"cn:x", "uri:https://id.test/3"}), 0U);
  EXPECT_EQ(ask_with({"dns:desk.test"}), 2U) << "both criteria must hold";
  EXPECT_EQ(ask_with({"dns:desk.test"}, "anna"), 1U);
  EXPECT_EQ(ask_with({"cn:Kiosk 3"}), 2U);
  EXPECT_EQ(ask_with({}), 2U);
  EXPECT_EQ(of.unreachable(), std::vector<std::size_t>{});
  groups[1].certificates = {"cn:kiosk 3"};
  EXPECT_EQ(table(groups).unreachable(), (std::vector<std::size_t>{1}));
}

TEST(GroupTable, OnTransparentListenersNobodyHasLoggedIn) {
  auto both = listeners({"127.0.0.1:1", "127.0.0.1:2"});
  both[0].mode = conf::Listener::Mode::transparent;
  std::vector<conf::Group> groups{group_of_users({"anna"}), group({"10.0.0.0/8"})};
  EXPECT_EQ(ask_as(GroupTable::build(groups, both).value(), "anna", {}), 1U);
  groups[0].listeners = {"127.0.0.1:1"};
  EXPECT_EQ(GroupTable::build(groups, both).value().unreachable(), (std::vector<std::size_t>{0}));
}

TEST(GroupTable, NobodyIsLeftOfTheUsers) {
  const auto lost = [](const std::vector<conf::Group>& groups) { return table(groups).unreachable(); };
  using Lost = std::vector<std::size_t>;
  EXPECT_EQ(lost({group_of_users({"a", "b"}), group_of_users({"b"})}), (Lost{1}));
  EXPECT_EQ(lost({group_of_users({"a", "b"}), group_of_users({"b"}, {"x"})}), (Lost{1}));
  EXPECT_EQ(lost({group_of_users({"b"}, {"x"}), group_of_users({"b"})}), Lost{});
  EXPECT_EQ(lost({group_of_users({"a"}), group_of_users({"a", "b"})}), Lost{});
  EXPECT_EQ(lost({group_of_users({"a"}, {}, {"10.0.0.0/8"}), group_of_users({"a"})}), Lost{});
  EXPECT_EQ(lost({group_of_users({"a"}), group_of_users({"a"}, {}, {"10.0.0.0/8"})}), (Lost{1}));
  EXPECT_EQ(lost({group({}), group_of_users({"a"})}), (Lost{1}));
}

TEST(GroupTable, TakesAsManyGroupsAsThereMayBe) {
  std::vector<conf::Group> groups;
  for (std::size_t i = 0; i < conf::kMostGroups; ++i) groups.push_back(group_of_users({"u" + std::to_string(i)}));
  const GroupTable of = table(groups);
  for (std::size_t i = 0; i < groups.size(); ++i) ASSERT_EQ(ask_as(of, "u" + std::to_string(i), {}), i);
  EXPECT_EQ(ask_as(of, "u256", {}), conf::kMostGroups);
  groups.push_back(group({}));
  EXPECT_FALSE(GroupTable::build(groups, listeners({"127.0.0.1:1"})));
}

TEST(GroupTable, OfAllAddressesHasNoEnd) {
  const GroupTable of = table({group({"::/0"})});
  EXPECT_EQ(ask(of, "::"), 0U);
  EXPECT_EQ(ask(of, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), 0U);
  EXPECT_EQ(ask(table({group({"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"})}), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            0U);
}

class RandomGroups : public testing::TestWithParam<std::uint64_t> {};

// Against the rule itself, network by network.
TEST_P(RandomGroups, AgreeWithANaiveModel) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random(GetParam());
  const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); };
  const std::vector<std::string> addresses{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"};
  const auto address = [&] {
    if (below(4) == 0) return "2001:db8::" + std::to_string(below(4)) + ":" + std::to_string(below(4));
    return "10." + std::to_string(below(3)) + "." + std::to_string(below(3)) + "." + std::to_string(below(4) * 85);
  };
  const std::vector<std::string> users{"anna", "bob", "carl", ""}, user_groups{"x", "y", "z"};
  std::set<std::size_t> seen;
  for (int round = 0; round < 60; ++round) {
    std::vector<conf::Group> groups(1 + below(12));
    for (conf::Group& made : groups) {
      for (unsigned n = below(5); n > 0; --n) {
        const std::string text = address();
        const bool is_v6 = text.find(':') != std::string::npos;
        const Cidr cidr = Cidr::parse(text + "/" + std::to_string(is_v6 ? 32 + below(97) : 8 + below(25)))
                              .value_or(Cidr::parse(text).value());
        made.clients.push_back(cidr.base.text() + "/" + std::to_string(is_v6 ? cidr.prefix : cidr.prefix - 96));
      }
      for (unsigned n = below(3); n > 0; --n) made.listeners.push_back(addresses[below(3)]);
      if (below(3) == 0) made.users.push_back(users[below(3)]);
      for (unsigned n = below(3) == 0 ? 1 + below(2) : 0; n > 0; --n) made.user_groups.push_back(user_groups[below(3)]);
    }
    const GroupTable of = table(groups, addresses);
    for (int i = 0; i < 200; ++i) {
      const Address client = Address::parse(address()).value();
      const std::string& listener = addresses[below(3)];
      const std::string& user = users[below(4)];
      std::vector<std::string> own;
      for (unsigned n = user.empty() ? 0 : below(3); n > 0; --n) own.push_back(user_groups[below(3)]);
      const auto is_own = [&](const std::string& name) { return std::ranges::find(own, name) != own.end(); };
      const auto holds = [&](const conf::Group& made) {
        const auto contains = [&](const std::string& text) { return Cidr::parse(text)->contains(client); };
        return (made.clients.empty() || std::ranges::any_of(made.clients, contains)) &&
               (made.listeners.empty() || std::ranges::find(made.listeners, listener) != made.listeners.end()) &&
               (made.users.empty() || std::ranges::find(made.users, user) != made.users.end()) &&
               (made.user_groups.empty() || std::ranges::any_of(made.user_groups, is_own));
      };
      const auto wanted = static_cast<std::size_t>(std::ranges::find_if(groups, holds) - groups.begin());
      ASSERT_EQ(of.group_of(client, listener, {.user = user, .user_groups = own}), wanted)
          << client.text() << " at " << listener << " as " << user;
      seen.insert(wanted);
      const auto lost = of.unreachable();
      ASSERT_EQ(std::ranges::find(lost, wanted), lost.end());
    }
  }
  EXPECT_GT(seen.size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGroups, testing::Range<std::uint64_t>(1, 7));

}  // namespace
}  // namespace bloomwall::proxy
