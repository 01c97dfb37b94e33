// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/access_rules.h"
#include "tests/support/seed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy::http_test {
namespace {

IpAddress address(std::string_view text) {
  const auto parsed = IpAddress::parse_host(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(IpAddress{});
}
AccessRules rules(const conf::Access& access) {
  auto built = AccessRules::build(access);
  EXPECT_TRUE(built) << built.error();
  return *built;
}

TEST(CidrSet, AnswersWithTheMostSpecificBlock) {
  const auto set = CidrSet::build({"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "::/0", "10.1.0.0/16"});
  ASSERT_TRUE(set);
  EXPECT_EQ(set->longest(address("10.1.2.3")), 128U);
  EXPECT_EQ(set->longest(address("10.1.2.4")), 112U);
  EXPECT_EQ(set->longest(address("10.2.0.0")), 104U);
  EXPECT_EQ(set->longest(address("2001:db8::1")), 0U);
  EXPECT_FALSE(CidrSet::build({"10.0.0.0/8"})->longest(address("11.0.0.0")));
  EXPECT_EQ(CidrSet::build({"10.0.0.0/8", "nonsense"}).error(), "nonsense");
  EXPECT_TRUE(CidrSet::build({})->empty());
}

// Every length at every bit, asked beside its edges, against IpNetwork::contains().
TEST(CidrSet, AnswersAsItsBlocksDo) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> rules;
    std::vector<IpNetwork> blocks;
    IpAddress base;
    for (auto& octet : base.octets) octet = static_cast<std::uint8_t>(random());
    for (int i = 0; i < 12; ++i) {
      const auto prefix = static_cast<unsigned>(random() % 129);
      rules.push_back(base.text() + "/" + std::to_string(prefix));
      blocks.push_back(*IpNetwork::parse(rules.back()));
      base.octets[random() % 16] ^= static_cast<std::uint8_t>(1U << random() % 8);
    }
    const auto set = CidrSet::build(rules);
    ASSERT_TRUE(set);
    for (int i = 0; i < 200; ++i) {
      IpAddress asked = blocks[random() % blocks.size()].base;
      if (random() % 4 != 0) asked.octets[random() % 16] ^= static_cast<std::uint8_t>(1U << random() % 8);
      std::optional<unsigned> longest;
      for (const IpNetwork& block : blocks) {
        if (block.contains(asked) && (!longest || block.prefix > *longest)) longest = block.prefix;
      }
      EXPECT_EQ(set->longest(asked), longest) << asked.text();
    }
  }
}

TEST(CidrSet, GroupsHoldTheirAddresses) {
  struct Row {
    std::string_view group, inside;
  };
  const Row rows[] = {
      {"loopback", "127.255.255.254"},
      {"loopback", "::1"},
      {"private", "10.0.0.1"},
      {"private", "172.31.0.1"},
      {"private", "192.168.255.1"},
      {"private", "fd00::1"},
      {"link_local", "169.254.169.254"},
      {"link_local", "febf::1"},
      {"shared", "100.127.0.1"},
      {"multicast", "239.1.1.1"},
      {"multicast", "ff02::1"},
      {"multicast", "255.255.255.255"},
      {"unspecified", "0.1.2.3"},
      {"unspecified", "::"},
      {"reserved", "192.0.0.170"},
      {"reserved", "192.0.2.1"},
      {"reserved", "198.51.100.1"},
      {"reserved", "203.0.113.1"},
      {"reserved", "192.88.99.1"},
      {"reserved", "198.19.255.1"},
      {"reserved", "240.0.0.1"},
      {"reserved", "::ffff:0:8.8.8.8"},
      {"reserved", "100::1"},
      {"reserved", "2001:2::1"},
      {"reserved", "2001:2f::1"},
      {"reserved", "2001:db8::1"},
      {"reserved", "3fff::1"},
      {"reserved", "5f00::1"},
      {"reserved", "2620:4f:8000::1"},
      {"reserved", "64:ff9b:1::1"},
  };
  for (const Row& row : rows) {
    const auto set = CidrSet::build({std::string(row.group)});
    ASSERT_TRUE(set);
    EXPECT_TRUE(set->contains(address(row.inside))) << row.group << " " << row.inside;
    EXPECT_FALSE(set->contains(address("8.8.8.8")));
    EXPECT_FALSE(set->contains(address("2606:4700::1111")));
  }
  EXPECT_FALSE(CidrSet::build({"private"})->contains(address("172.32.0.1")));
  EXPECT_FALSE(CidrSet::build({"shared"})->contains(address("100.128.0.1")));
}

TEST(AccessRules, DefaultsKeepToThePublicInternet) {
  const AccessRules access = rules({});
  for (const std::string_view good : {"8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1"}) {
    EXPECT_TRUE(access.destination_allowed(address(good))) << good;
  }
  for (const std::string_view bad : {"127.0.0.66",
                                     "10.0.0.1",
                                     "169.254.169.254",
                                     "100.64.0.1",
                                     "224.0.0.1",
                                     "0.0.0.0",
                                     "::",
                                     "::1",
                                     "fe80::1",
                                     "fc00::1",
                                     "ff02::1",
                                     "::ffff:127.0.0.66",
                                     "::ffff:7f00:42",
                                     "::127.0.0.1",
                                     "64:ff9b::127.0.0.1",
                                     "64:ff9b:1::10.0.0.1",
                                     "2002:7f00:0001::",
                                     "2002:c0a8:0101::1",
                                     "2001:0:a00:1::",
                                     "2001::f5ff:fffe",
                                     "192.0.2.1",
                                     "::ffff:0:127.0.0.1",
                                     "::ffff:0:8.8.8.8",
                                     "2606:4700::5efe:127.0.0.1",
                                     "2606:4700::200:5efe:10.0.0.1",
                                     "2002:808:808::5efe:10.0.0.1",
                                     "64:ff9b:1:a00:0:100:808:808",
                                     "64:ff9b:1::8.8.8.8",
                                     "64:ff9b::10.0.0.1"}) {
    EXPECT_FALSE(access.destination_allowed(address(bad))) << bad;
  }
}

// RFC 6052 section 2.2, its table and the examples of section 2.4 with addresses that may not be reached.
TEST(AccessRules, TranslatorsPrefixesAreLookedThrough) {
  struct Row {
    std::string_view prefix, bad, good;
  };
  const Row rows[] = {
      {"2001:da8::/32", "2001:da8:a00:1::", "2001:da8:808:808::"},
      {"2001:da8:100::/40", "2001:da8:10a:0:1::", "2001:da8:108:808:8::"},
      {"2001:da8:122::/48", "2001:da8:122:a00:0:100::", "2001:da8:122:808:8:800::"},
      {"2001:da8:122:300::/56", "2001:da8:122:30a:0:1::", "2001:da8:122:308:8:808::"},
      {"2001:da8:122:344::/64", "2001:da8:122:344:a:0:100:0", "2001:da8:122:344:8:808:800:0"},
      {"2001:da8:122:344::/96", "2001:da8:122:344::10.0.0.1", "2001:da8:122:344::8.8.8.8"},
      {"64:ff9b:1::/48", "64:ff9b:1:a00:0:100:808:808", "64:ff9b:1:808:8:800::"},
      {"64:ff9b:1::/96", "64:ff9b:1::10.0.0.1", "64:ff9b:1::8.8.8.8"},
      {"fd00:64::/96", "fd00:64::127.0.0.1", "fd00:64::8.8.8.8"},
  };
  for (const Row& row : rows) {
    const auto made = AccessRules::build({}, {std::string(row.prefix)});
    ASSERT_TRUE(made) << made.error();
    EXPECT_FALSE(made->destination_allowed(address(row.bad))) << row.prefix << " " << row.bad;
    EXPECT_TRUE(made->destination_allowed(address(row.good))) << row.prefix << " " << row.good;
  }
  conf::Access local;
  local.allow_destinations = {"64:ff9b:1::/48"};
  EXPECT_FALSE(rules(local).destination_allowed(address("64:ff9b:1:a00:0:100:808:808")));
  EXPECT_FALSE(rules(local).destination_allowed(address("64:ff9b:1::10.0.0.1")));
  EXPECT_TRUE(rules(local).destination_allowed(address("64:ff9b:1:808:8:800::")));
  local.deny_destinations = {"fd00:64::7f00:0/104"};
  EXPECT_FALSE(AccessRules::build(local, {"fd00:64::/96"})->destination_allowed(address("fd00:64::127.0.0.1")));
  EXPECT_EQ(AccessRules::build({}, {"nowhere"}).error(), "dns.nat64_prefixes: no network: nowhere");
}

TEST(AccessRules, PlainHttpGoesToNoPortOfOtherProtocols) {
  const AccessRules usual = rules({});
  // "Bad port" of the Fetch standard, section 2.9.
  const std::set<std::uint16_t> bad{1,    7,    9,    11,   13,   15,   17,   19,   20,   21,   22,   23,   25,   37,
                                    42,   43,   53,   69,   77,   79,   87,   95,   101,  102,  103,  104,  109,  110,
                                    111,  113,  115,  117,  119,  123,  135,  137,  139,  143,  161,  179,  389,  427,
                                    465,  512,  513,  514,  515,  526,  530,  531,  532,  540,  548,  554,  556,  563,
                                    587,  601,  636,  989,  990,  993,  995,  1719, 1720, 1723, 2049, 3659, 4045, 4190,
                                    5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080};
  for (std::uint16_t port = 1; port != 0; ++port) {
    EXPECT_EQ(usual.http_port_allowed(port), !bad.contains(port)) << port;
  }
  conf::Access open;
  open.deny_ports = {};
  EXPECT_TRUE(rules(open).http_port_allowed(25));
}

TEST(AccessRules, TheMostSpecificRuleWinsAndAllowWinsATie) {
  conf::Access access;
  access.deny_destinations = {"10.0.0.0/8", "10.1.2.0/24", "192.0.2.0/24", "198.51.100.7"};
  access.allow_destinations = {"10.1.0.0/16", "192.0.2.0/24", "0.0.0.0/0"};
  const AccessRules made = rules(access);
  EXPECT_FALSE(made.destination_allowed(address("10.0.0.1")));
  EXPECT_TRUE(made.destination_allowed(address("10.1.0.1")));
  EXPECT_FALSE(made.destination_allowed(address("10.1.2.1")));
  EXPECT_TRUE(made.destination_allowed(address("192.0.2.1")));
  EXPECT_FALSE(made.destination_allowed(address("198.51.100.7")));
  EXPECT_TRUE(made.destination_allowed(address("198.51.100.8")));
}

TEST(AccessRules, AnAllowedTranslatorPrefixDoesNotAllowWhatItHides) {
  conf::Access access;
  access.allow_destinations = {"64:ff9b::/96"};
  EXPECT_FALSE(rules(access).destination_allowed(address("64:ff9b::127.0.0.1")));
  access.allow_destinations = {"127.0.0.0/8"};
  EXPECT_TRUE(rules(access).destination_allowed(address("127.0.0.1"))) << "a tie with the group";
  EXPECT_TRUE(rules(access).destination_allowed(address("127.0.0.1")));
  EXPECT_TRUE(rules(access).destination_allowed(address("64:ff9b::127.0.0.1")));
}

TEST(AccessRules, ClientsAndPorts) {
  const AccessRules usual = rules({});
  EXPECT_TRUE(usual.client_allowed(address("127.0.0.1")));
  EXPECT_TRUE(usual.client_allowed(address("::1")));
  EXPECT_FALSE(usual.client_allowed(address("192.168.1.1")));
  EXPECT_TRUE(usual.port_allowed(443));
  EXPECT_TRUE(usual.port_allowed(80)) << "ws:// goes through a tunnel";
  EXPECT_FALSE(usual.port_allowed(22));
  conf::Access open;
  open.clients = {"::/0"};
  open.connect_ports = {};
  EXPECT_TRUE(rules(open).client_allowed(address("203.0.113.1")));
  EXPECT_TRUE(rules(open).port_allowed(22));
  open.clients = {};
  EXPECT_FALSE(rules(open).client_allowed(address("127.0.0.1")));
}

TEST(AccessRules, ErrorsNameKeyAndRule) {
  conf::Access access;
  access.clients = {"10.0.0.0/8", "localhost"};
  EXPECT_EQ(AccessRules::build(access).error(), "access.clients: no address, network or group: localhost");
  access = {};
  access.deny_destinations = {"privat"};
  EXPECT_EQ(AccessRules::build(access).error(), "access.deny_destinations: no address, network or group: privat");
  access = {};
  access.allow_destinations = {"10.0.0.0/40"};
  EXPECT_EQ(AccessRules::build(access).error(), "access.allow_destinations: no address, network or group: 10.0.0.0/40");
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
