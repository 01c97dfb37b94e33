// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/client_limits.h"

#include <gtest/gtest.h>

namespace bloomwall::proxy {
namespace {

Milliseconds now{1'000'000};  // NOLINT: the hands that the test turns
Milliseconds test_clock() { return now; }

Endpoint ip(const char* text) { return *Endpoint::parse_ip(text); }

int allowed_of(RequestRate& rate, const Endpoint& client, std::uint32_t per_second, int asked) {
  int allowed = 0;
  for (int i = 0; i < asked; ++i) allowed += rate.allow(client, per_second);
  return allowed;
}

TEST(RequestRate, OneSecondsShareAtOnceAndThenAsTimePasses) {
  RequestRate rate(test_clock);
  const Endpoint client = ip("192.0.2.1");
  EXPECT_EQ(allowed_of(rate, client, 10, 50), 10);
  now += Milliseconds(99);
  EXPECT_EQ(allowed_of(rate, client, 10, 50), 0);
  now += Milliseconds(1);
  EXPECT_EQ(allowed_of(rate, client, 10, 50), 1);
  now += Milliseconds(500);
  EXPECT_EQ(allowed_of(rate, client, 10, 50), 5);
  now += Milliseconds(60'000);
  EXPECT_EQ(allowed_of(rate, client, 10, 50), 10) << "a long rest saves up no more than a second";
}

TEST(RequestRate, OneASecondIsOne) {
  RequestRate rate(test_clock);
  const Endpoint client = ip("192.0.2.1");
  EXPECT_EQ(allowed_of(rate, client, 1, 5), 1);
  now += Milliseconds(1000);
  EXPECT_EQ(allowed_of(rate, client, 1, 5), 1);
}

TEST(RequestRate, ClientsAreCountedApartAndIpv6BySite) {
  RequestRate rate(test_clock);
  EXPECT_EQ(allowed_of(rate, ip("192.0.2.1"), 3, 9), 3);
  EXPECT_EQ(allowed_of(rate, ip("192.0.2.2"), 3, 9), 3);
  EXPECT_EQ(allowed_of(rate, ip("::ffff:192.0.2.2"), 3, 9), 0) << "the same client";
  EXPECT_EQ(allowed_of(rate, ip("2001:db8::1"), 3, 9), 3);
  EXPECT_EQ(allowed_of(rate, ip("2001:db8::2"), 3, 9), 0) << "one /64";
  EXPECT_EQ(allowed_of(rate, ip("2001:db8:0:1::1"), 3, 9), 3);
}

TEST(FairPlaces, OneClientGetsHalfAndSomebodyNewGetsOne) {
  FairPlaces places;
  const auto take = [&](const char* client) {
    int got = 0;
    while (places.take(ip(client), 100)) ++got;
    return got;
  };
  EXPECT_EQ(take("192.0.2.1"), 50);
  EXPECT_EQ(take("192.0.2.2"), 25);
  EXPECT_EQ(take("192.0.2.1"), 0);
  EXPECT_EQ(take("2001:db8::1"), 13);
  EXPECT_EQ(take("2001:db8::2"), 0) << "one /64";
  EXPECT_EQ(take("192.0.2.3"), 6);
  EXPECT_EQ(places.taken(), 94U);
  for (int i = 0; i < 50; ++i) places.give(ip("192.0.2.1"));
  EXPECT_EQ(take("192.0.2.3"), 25) << "as many as are left for all then";
  EXPECT_FALSE(places.take(ip("192.0.2.9"), 10)) << "a limit that has become smaller";
}

TEST(FairPlaces, OneIsOne) {
  FairPlaces places;
  EXPECT_FALSE(places.take(ip("192.0.2.1"), 0));
  EXPECT_TRUE(places.take(ip("192.0.2.1"), 1));
  EXPECT_FALSE(places.take(ip("192.0.2.2"), 1));
  places.give(ip("192.0.2.1"));
  EXPECT_TRUE(places.take(ip("192.0.2.2"), 1));
}

TEST(RequestRate, RemembersABoundedNumber) {
  RequestRate rate(test_clock);
  const std::size_t most = RequestRate::kShards * RequestRate::kMostClients;
  for (std::uint32_t i = 0; i < most + 200'000; ++i) {
    in_addr address{.s_addr = i};
    ASSERT_TRUE(rate.allow(Endpoint::from(address, 0), 1));
  }
  EXPECT_LE(rate.clients(), most);
  EXPECT_GT(rate.clients(), most * 9 / 10);
}

}  // namespace
}  // namespace bloomwall::proxy
