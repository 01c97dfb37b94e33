// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "proxy/dns/cares_resolver.h"
#include "proxy/dns/resolver.h"
#include "proxy/dns/static_hosts.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

TEST(ResolvableName, RefusesWhatIsNoName) {
  const std::string label63(63, 'a');
  const std::string long_name = label63 + "." + label63 + "." + label63 + "." + std::string(61, 'b');
  ASSERT_EQ(long_name.size(), 253u);
  for (const std::string& name :
       {std::string("example.com"), std::string("a"), std::string("1.2.3.com"), std::string("x_y"),
        std::string("xn--bcher-kva.example"), std::string("1a"), std::string("0x1g"), long_name}) {
    EXPECT_TRUE(is_resolvable_name(name)) << name;
  }
  for (const std::string& name :
       {std::string(""), std::string("."), std::string("a."), std::string(".a"), std::string("a..b"),
        std::string("127.0.0.1"), std::string("2130706433"), std::string("example.1"), std::string("0x7f000001"),
        std::string("a.0x"), std::string("a.0X7F"), label63 + "a.com", long_name + "c"}) {
    EXPECT_FALSE(is_resolvable_name(name)) << name;
  }
}

TEST(StaticHosts, ConfigurationBeatsTheFileAndTheFileBeatsNothing) {
  const test::TempDir dir;
  const auto file = dir.write("hosts",
                              "127.0.0.1 localhost\n"
                              "10.1.1.1  Printer.Example printer   # the old one\n"
                              "fd00::1\tprinter.example\n"
                              "# 10.9.9.9 commented.example\n"
                              "not-an-address odd.example\n"
                              "10.2.2.2 overridden.example\n"
                              "fe80::1%eth0 scoped.example\n");
  const auto hosts = StaticHosts::build({{"overridden.example", "10.3.3.3"}, {"own.example", "2001:db8::7"}}, file);
  ASSERT_TRUE(hosts);
  const auto addresses = [&](std::string_view name) {
    std::string out;
    for (const Endpoint& address : hosts->find(name)) out += address.ip() + " ";
    return out;
  };
  EXPECT_EQ(addresses("printer.example"), "10.1.1.1 fd00::1 ");
  EXPECT_EQ(addresses("printer"), "10.1.1.1 ");
  EXPECT_EQ(addresses("overridden.example"), "10.3.3.3 ");
  EXPECT_EQ(addresses("own.example"), "2001:db8::7 ");
  EXPECT_EQ(addresses("localhost"), "127.0.0.1 ");
  EXPECT_EQ(addresses("deep.localhost"), "127.0.0.1 ::1 ");
  for (const char* none : {"commented.example", "odd.example", "scoped.example", "example", "notlocalhost", ""}) {
    EXPECT_EQ(addresses(none), "") << none;
  }
}

TEST(StaticHosts, AreTheSameWhereTheirNamesLeadToTheSame) {
  const test::TempDir dir;
  const auto build = [&](const std::string& text) {
    return *StaticHosts::build({{"own.example", "10.0.0.1"}}, dir.write("hosts", text));
  };
  const auto before = build("10.1.1.1 a.example\n");
  EXPECT_EQ(before, build("# a comment\n10.1.1.1 A.example\n"));
  EXPECT_NE(before, build("10.1.1.2 a.example\n"));
  EXPECT_NE(before, build("10.1.1.1 a.example\n10.1.1.1 b.example\n"));
  EXPECT_NE(before, build(""));
}

TEST(StaticHosts, ABadAddressNamesItsName) {
  const auto hosts = StaticHosts::build({{"a.example", "10.0.0.1"}, {"b.example", "10.0.0"}}, "/nonexistent");
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error(), "dns.hosts.b.example: not an IP address");
}

TEST(StaticHosts, AFileThatCannotBeOpenedJustNowIsNotTakenForEmpty) {
  const test::TempDir dir;
  const auto file = dir.write("hosts", "10.1.1.1 printer.example\n");
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &saved), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = saved.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto hosts = StaticHosts::build({}, file);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &saved), 0);
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error(), std::string(file) + ": Too many open files");
}

Milliseconds hands{0};
Milliseconds test_clock() { return hands; }

FamilyAnswer answer(const std::string& ip) { return {{*Endpoint::parse_ip(ip)}, ResolveError::none}; }

TEST(AddressCache, KeepsAnswersForTheirTimeAndFamiliesApart) {
  hands = Milliseconds(1000);
  AddressCache cache(100, test_clock);
  cache.store("a.example", Family::v4, answer("10.0.0.1"), std::chrono::seconds(5));
  EXPECT_EQ(cache.find("a.example", Family::v6), nullptr);
  EXPECT_EQ(cache.find("b.example", Family::v4), nullptr);
  ASSERT_NE(cache.find("a.example", Family::v4), nullptr);
  EXPECT_EQ(cache.find("a.example", Family::v4)->addresses[0].ip(), "10.0.0.1");
  hands += Milliseconds(4999);
  EXPECT_NE(cache.find("a.example", Family::v4), nullptr);
  hands += Milliseconds(1);
  EXPECT_EQ(cache.find("a.example", Family::v4), nullptr);
  EXPECT_EQ(cache.size(), 0u);
}

TEST(AddressCache, TtlZeroIsNotKeptAndFailuresOnlyBriefly) {
  hands = Milliseconds(1000);
  AddressCache cache(100, test_clock);
  cache.store("zero.example", Family::v4, answer("10.0.0.1"), std::chrono::seconds(0));
  EXPECT_EQ(cache.find("zero.example", Family::v4), nullptr);
  cache.store("gone.example", Family::v4, {{}, ResolveError::no_such_name}, std::chrono::seconds(9999));
  cache.store("sick.example", Family::v4, {{}, ResolveError::timed_out}, std::chrono::seconds(9999));
  hands += AddressCache::kFailure;
  EXPECT_EQ(cache.find("sick.example", Family::v4), nullptr);
  ASSERT_NE(cache.find("gone.example", Family::v4), nullptr);
  EXPECT_EQ(cache.find("gone.example", Family::v4)->error, ResolveError::no_such_name);
  hands += AddressCache::kNegative;
  EXPECT_EQ(cache.find("gone.example", Family::v4), nullptr);
}

TEST(AddressCache, ARecordThatClaimsAYearIsKeptForAnHour) {
  hands = Milliseconds(1000);
  AddressCache cache(100, test_clock);
  cache.store("a.example", Family::v4, answer("10.0.0.1"), std::chrono::hours(8760));
  hands += AddressCache::kLongest;
  EXPECT_EQ(cache.find("a.example", Family::v4), nullptr);
}

TEST(AddressCache, TheLeastRecentlyUsedGoesFirst) {
  hands = Milliseconds(1000);
  AddressCache cache(3, test_clock);
  for (const char* name : {"a", "b", "c"}) cache.store(name, Family::v4, answer("10.0.0.1"), std::chrono::seconds(60));
  EXPECT_NE(cache.find("a", Family::v4), nullptr);
  cache.store("d", Family::v4, answer("10.0.0.1"), std::chrono::seconds(60));
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.find("b", Family::v4), nullptr);
  EXPECT_NE(cache.find("a", Family::v4), nullptr);
  EXPECT_NE(cache.find("d", Family::v4), nullptr);
}

TEST(AddressCache, WithoutRoomItKeepsNothing) {
  AddressCache cache(0);
  cache.store("a", Family::v4, answer("10.0.0.1"), std::chrono::seconds(60));
  EXPECT_EQ(cache.find("a", Family::v4), nullptr);
}

}  // namespace
}  // namespace bloomwall::proxy
