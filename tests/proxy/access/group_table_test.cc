// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/group_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/seed.h"

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
  return of.group_of(IpAddress::parse_host(client).value(), listener, {});
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
  return of.group_of(IpAddress::parse_host(client).value(), "127.0.0.1:1", {.user = user, .user_groups = user_groups});
}

TEST(GroupTable, AGroupOfDevicesWithoutDevicesHasNoMember) {
  conf::Group of_devices = group({});
  of_devices.is_of_devices = true;
  EXPECT_EQ(ask(table({of_devices, group({})}), "10.0.0.1"), 1U);
  EXPECT_EQ(table({of_devices, group({})}).unreachable(), std::vector<std::size_t>{0});
  of_devices.clients = {"10.0.0.1"};
  EXPECT_EQ(ask(table({of_devices, group({})}), "10.0.0.1"), 0U);
  EXPECT_EQ(ask(table({of_devices, group({})}), "10.0.0.2"), 1U);
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
    return of.group_of(IpAddress::parse_host("10.0.0.1").value(), "127.0.0.1:1", {.user = user, .certificate = names});
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

// Random groups and clients, and the rule itself, criterion by criterion.
class RandomGroups {
 public:
  explicit RandomGroups(std::uint64_t seed) : random_(seed), listeners_(listeners(kListeners)) {
    listeners_.back().mode = conf::Listener::Mode::transparent;
  }

  std::vector<conf::Group> groups() {
    std::vector<conf::Group> made(1 + below(12));
    for (conf::Group& one : made) {
      for (unsigned n = below(5); n > 0; --n) one.clients.push_back(network());
      for (unsigned n = below(3); n > 0; --n) one.listeners.push_back(pick(kListeners));
      if (below(3) == 0) one.users = some(kUsers, 2);
      if (below(3) == 0) one.user_groups = some(kUserGroups, 2);
      if (below(4) == 0) one.certificates = some(kCertificates, 2);
    }
    return made;
  }
  struct Client {
    IpAddress address;
    std::string listener, user;
    std::vector<std::string> user_groups, certificate;
  };
  Client client() {
    Client made{IpAddress::parse_host(address()).value(), pick(kListeners), {}, {}, {}};
    if (below(4) > 0) made.user = pick(kUsers);
    if (!made.user.empty()) made.user_groups = some(kUserGroups, 3);
    if (below(2) == 0) made.certificate = some(kCertificates, 3);
    return made;
  }
  // The first whose every criterion holds.
  static std::size_t naive(const std::vector<conf::Group>& groups, const Client& client) {
    const bool is_transparent = client.listener == kListeners.back();
    const auto holds = [&](const conf::Group& group) {
      const auto contains = [&](const std::string& text) { return IpNetwork::parse(text)->contains(client.address); };
      if (is_transparent && !(group.users.empty() && group.user_groups.empty() && group.certificates.empty())) {
        return false;
      }
      return (group.clients.empty() || std::ranges::any_of(group.clients, contains)) &&
             asks_for(group.listeners, {client.listener}) && asks_for(group.users, {client.user}) &&
             asks_for(group.user_groups, client.user_groups) && asks_for(group.certificates, client.certificate);
    };
    return static_cast<std::size_t>(std::ranges::find_if(groups, holds) - groups.begin());
  }
  const std::vector<conf::Listener>& all_listeners() const { return listeners_; }

 private:
  using Texts = std::vector<std::string>;
  static inline const Texts kListeners{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"};
  static inline const Texts kUsers{"anna", "bob", "carl"}, kUserGroups{"x", "y", "z"};
  static inline const Texts kCertificates{"cn:desk", "dns:desk.test", "uri:https://id.test/3"};

  static bool asks_for(const Texts& wanted, const Texts& own) {
    return wanted.empty() ||
           std::ranges::any_of(own, [&](const std::string& one) { return std::ranges::count(wanted, one) > 0; });
  }
  unsigned below(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random_); }
  const std::string& pick(const Texts& from) { return from[below(static_cast<unsigned>(from.size()))]; }
  Texts some(const Texts& from, unsigned most) {
    Texts made;
    for (unsigned n = below(most) + 1; n > 0; --n) made.push_back(pick(from));
    return made;
  }
  std::string address() {
    if (below(4) == 0) return "2001:db8::" + std::to_string(below(4)) + ":" + std::to_string(below(4));
    return "10." + std::to_string(below(3)) + "." + std::to_string(below(3)) + "." + std::to_string(below(4) * 85);
  }
  std::string network() {
    const std::string text = address();
    const bool is_v6 = text.find(':') != std::string::npos;
    const IpNetwork cidr = IpNetwork::parse(text + "/" + std::to_string(is_v6 ? 32 + below(97) : 8 + below(25)))
                               .value_or(IpNetwork::parse(text).value());
    return cidr.base.text() + "/" + std::to_string(is_v6 ? cidr.prefix : cidr.prefix - 96);
  }
  std::mt19937_64 random_;
  std::vector<conf::Listener> listeners_;  // the last one is transparent
};

TEST(GroupTableAtRandom, AgreesWithANaiveReadingOfTheRule) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomGroups random(seed);
  std::size_t asked = 0;
  std::set<std::size_t> seen;
  for (int round = 0; round < 5'000; ++round) {
    const std::vector<conf::Group> groups = random.groups();
    const GroupTable of = GroupTable::build(groups, random.all_listeners()).value();
    const std::vector<std::size_t> lost = of.unreachable();
    for (int question = 0; question < 20; ++question, ++asked) {
      const RandomGroups::Client client = random.client();
      const std::size_t wanted = RandomGroups::naive(groups, client);
      const GroupMember member{
          .user = client.user, .user_groups = client.user_groups, .certificate = client.certificate};
      ASSERT_EQ(of.group_of(client.address, client.listener, member), wanted)
          << client.address.text() << " at " << client.listener << " as " << client.user;
      ASSERT_EQ(std::ranges::find(lost, wanted), lost.end());
      seen.insert(wanted);
    }
  }
  EXPECT_EQ(asked, 100'000U);
  EXPECT_GT(seen.size(), 8U);
}

}  // namespace
}  // namespace bloomwall::proxy
