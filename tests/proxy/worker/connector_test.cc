// Dialling: families, order, staggering, rules on each address, deadline. Names are answered by the test.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/connector.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "filter/policy/policy.h"
#include "proxy/decision/snapshot.h"
#include "proxy/io/event_loop.h"
#include "proxy/upstream/addresses.h"
#include "tests/support/fake_resolver.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::proxy {
namespace {

using test::ScriptedListener;

class ConnectorTest : public testing::Test, public Connector::Handler {
 protected:
  ConnectorTest() {
    settings.access.deny_destinations = {};
    settings.timeouts.connect = Milliseconds(1500);
  }
  bool may_dial(const Endpoint& peer) override {
    asked_of.push_back(peer.ip());
    return !refused.contains(peer.ip());
  }
  void on_connected(UniqueFd fd, const Endpoint& peer) override {
    ++told;
    connected = std::move(fd);
    reached = peer.text();
  }
  void on_dial_failed(const HttpError& error) override {
    ++told;
    failure = error.kind;
  }
  void dial(std::string_view host, std::uint16_t port, bool is_parent = false) {
    auto snapshot = make_snapshot(settings, 1);
    ASSERT_TRUE(snapshot);
    connector.start({.host = host, .port = port, .is_parent = is_parent}, *snapshot);
    EXPECT_EQ(told, 0) << "never from within start()";
  }
  void turn_until_told() {
    const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
    while (told == 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nobody was told anything";
      event_base_loop(loop.base(), EVLOOP_ONCE);
    }
    event_base_loop(loop.base(), EVLOOP_NONBLOCK);
    EXPECT_EQ(told, 1);
  }

  EventLoop loop;
  test::FakeResolver resolver;
  OwnAddresses own;
  DialContext context{loop, resolver, own};
  Connector connector{context, *this};
  conf::Config settings;
  UniqueFd connected;
  std::string reached;
  std::optional<ErrorKind> failure;
  std::set<std::string> refused;      // what may_dial() says no to
  std::vector<std::string> asked_of;  // by it
  int told = 0;
};

TEST_F(ConnectorTest, AddressesAreDialledWithoutTheResolver) {
  ScriptedListener origin;
  dial("127.0.0.1", origin.port());
  turn_until_told();
  EXPECT_EQ(reached, origin.authority());
  EXPECT_TRUE(resolver.asked.empty());
}

TEST_F(ConnectorTest, StaticHostsAreAskedBeforeTheResolver) {
  ScriptedListener origin;
  settings.dns.hosts["static.test"] = "127.0.0.1";
  dial("static.test", origin.port());
  turn_until_told();
  EXPECT_EQ(reached, origin.authority());
  EXPECT_TRUE(resolver.asked.empty());
}

TEST_F(ConnectorTest, IPv6GoesFirstAndIPv4FollowsAtOnceWhereItFails) {
  ScriptedListener origin;  // nobody listens on ::1 at this port
  resolver.know("both.example", Family::v6, {"::1"});
  resolver.know("both.example", Family::v4, {"127.0.0.1"});
  dial("both.example", origin.port());
  turn_until_told();
  EXPECT_EQ(reached, origin.authority());
  EXPECT_EQ(connector.attempts_failed(), 1u);
}

TEST_F(ConnectorTest, EveryAddressIsTried) {
  ScriptedListener origin("127.0.0.9");
  resolver.know("many.example", Family::v6, {});
  resolver.know("many.example", Family::v4, {"127.0.0.7", "127.0.0.8", "127.0.0.9"});
  dial("many.example", origin.port());
  turn_until_told();
  EXPECT_EQ(reached, origin.authority());
}

TEST_F(ConnectorTest, TheIPv4AnswerWaitsAMomentForTheIPv6One) {
  ScriptedListener origin;
  dial("late.example", origin.port());
  resolver.answer(Family::v4, {"127.0.0.1"});
  EXPECT_EQ(told, 0);
  turn_until_told();
  EXPECT_EQ(reached, origin.authority()) << "and does not wait for ever";
}

TEST_F(ConnectorTest, AnAddressThatDoesNotAnswerHoldsUpTheNextOnlyBriefly) {
  // A full queue: connections to it stay in the air.
  const UniqueFd deaf(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto deaf_ip = Endpoint::parse_ip("127.0.0.5");
  ASSERT_EQ(::bind(deaf.get(), deaf_ip->raw(), deaf_ip->raw_size()), 0);
  ASSERT_EQ(::listen(deaf.get(), 0), 0);
  const auto bound = local_end(deaf.get());
  ASSERT_TRUE(bound.has_value());
  const Endpoint& deaf_address = *bound;
  std::vector<UniqueFd> plugs;
  for (int i = 0; i < 8; ++i) {
    plugs.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(plugs.back().get(), deaf_address.raw(), deaf_address.raw_size());
  }
  const UniqueFd origin(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Endpoint origin_address = Endpoint::parse_ip("127.0.0.6")->with_port(deaf_address.port());
  ASSERT_EQ(::bind(origin.get(), origin_address.raw(), origin_address.raw_size()), 0);
  ASSERT_EQ(::listen(origin.get(), 8), 0);
  resolver.know("slow.example", Family::v6, {});
  resolver.know("slow.example", Family::v4, {"127.0.0.5", "127.0.0.6"});
  dial("slow.example", deaf_address.port());
  turn_until_told();
  EXPECT_EQ(reached, origin_address.text());
}

TEST_F(ConnectorTest, DeniedAddressesAreNotDialledWhateverTheNameIs) {
  ScriptedListener denied("127.0.0.66"), origin("127.0.0.1");
  settings.access.deny_destinations = {"127.0.0.66"};
  resolver.know("rebound.example", Family::v6, {"::ffff:127.0.0.66"});
  resolver.know("rebound.example", Family::v4, {"127.0.0.66"});
  dial("rebound.example", denied.port());
  turn_until_told();
  EXPECT_EQ(failure, ErrorKind::destination_denied);
  EXPECT_TRUE(denied.nobody_comes_for(std::chrono::milliseconds(10)));
}

TEST_F(ConnectorTest, OnlyTheParentIsExempt) {
  ScriptedListener origin;
  settings.access.deny_destinations = {"loopback"};
  dial("127.0.0.1", origin.port(), true);
  turn_until_told();
  EXPECT_EQ(reached, origin.authority());
}

TEST_F(ConnectorTest, WhatTheHandlerRefusesIsNotDialled) {
  ScriptedListener unwanted("127.0.0.66");
  refused = {"127.0.0.66", "::ffff:127.0.0.66"};
  for (const char* host : {"127.0.0.66", "[::ffff:127.0.0.66]"}) {
    told = 0;
    failure.reset();
    dial(host, unwanted.port());
    turn_until_told();
    EXPECT_EQ(failure, ErrorKind::destination_denied) << host;
    EXPECT_TRUE(connector.was_refused()) << host;
  }
  EXPECT_TRUE(unwanted.nobody_comes_for(std::chrono::milliseconds(10)));
}

TEST_F(ConnectorTest, AnotherAddressIsDialledInsteadOfARefusedOne) {
  ScriptedListener origin("127.0.0.9");
  refused = {"127.0.0.7"};
  resolver.know("many.example", Family::v6, {});
  resolver.know("many.example", Family::v4, {"127.0.0.7", "127.0.0.9"});
  dial("many.example", origin.port());
  turn_until_told();
  EXPECT_EQ(reached, origin.authority());
  EXPECT_EQ(connector.attempts_failed(), 0u) << "it was not tried";
}

TEST_F(ConnectorTest, WhereAnotherAddressWasDialledAndFailedThatIsTheReason) {
  refused = {"127.0.0.7"};
  resolver.know("many.example", Family::v6, {});
  resolver.know("many.example", Family::v4, {"127.0.0.7", "127.0.0.1"});
  dial("many.example", test::closed_port());
  turn_until_told();
  EXPECT_EQ(failure, ErrorKind::connection_refused);
  EXPECT_FALSE(connector.was_refused());
}

TEST_F(ConnectorTest, ARefusalIsToldAlsoWhereTheOtherFamilyNeverAnswers) {
  settings.timeouts.connect = Milliseconds(200);
  refused = {"127.0.0.7"};
  dial("half.example", 80);
  resolver.answer(Family::v4, {"127.0.0.7"});
  turn_until_told();
  EXPECT_EQ(failure, ErrorKind::destination_denied);
  EXPECT_TRUE(connector.was_refused());
}

TEST_F(ConnectorTest, TheHandlerIsAskedOfWhatWouldBeDialledAlone) {
  ScriptedListener origin;
  settings.access.deny_destinations = {"127.0.0.66"};
  dial("127.0.0.66", origin.port());
  turn_until_told();
  EXPECT_FALSE(connector.was_refused());
  told = 0;
  dial("127.0.0.1", origin.port(), true);
  turn_until_told();
  EXPECT_EQ(reached, origin.authority());
  EXPECT_TRUE(asked_of.empty()) << "neither of a denied address nor of the parent's";
}

TEST_F(ConnectorTest, ItsOwnListenersAreNeverDialled) {
  ScriptedListener listener;
  own.add(*Endpoint::parse(":" + std::to_string(listener.port())));
  for (const char* host : {"127.0.0.1", "[::ffff:127.0.0.1]", "127.0.0.99", "::1", "0.0.0.0", "::"}) {
    told = 0;
    failure.reset();
    dial(host, listener.port());
    turn_until_told();
    EXPECT_EQ(failure, ErrorKind::loop) << host;
  }
}

// Whether an address is this machine's takes a socket to find out.
TEST_F(ConnectorTest, WithoutASocketWhatMayBeItsOwnIsNotDialled) {
  own.add(*Endpoint::parse(":3128"));
  const Endpoint elsewhere = *Endpoint::parse("192.0.2.1:3128");
  EXPECT_FALSE(own.contains(elsewhere));
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &saved), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = saved.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool may_be = own.contains(elsewhere);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &saved), 0);
  EXPECT_TRUE(may_be);
}

TEST_F(ConnectorTest, FailuresAreToldApart) {
  dial("127.0.0.1", test::closed_port());
  turn_until_told();
  EXPECT_EQ(failure, ErrorKind::connection_refused);
  struct Row {
    ResolveError error;
    ErrorKind kind;
  };
  for (const Row& row :
       {Row{ResolveError::no_such_name, ErrorKind::dns_error}, Row{ResolveError::timed_out, ErrorKind::dns_timeout},
        Row{ResolveError::failed, ErrorKind::dns_error}, Row{ResolveError::overloaded, ErrorKind::dns_limit}}) {
    told = 0;
    dial("failing.example", 80);
    resolver.answer(Family::v6, {}, row.error);
    resolver.answer(Family::v4, {}, row.error);
    turn_until_told();
    EXPECT_EQ(failure, row.kind) << to_string(row.error);
  }
}

TEST_F(ConnectorTest, TheDeadlineCoversNamesToo) {
  settings.timeouts.connect = Milliseconds(100);
  dial("silent.example", 80);
  turn_until_told();
  EXPECT_EQ(failure, ErrorKind::dns_timeout);
}

TEST_F(ConnectorTest, CancelIsSilent) {
  ScriptedListener origin;
  dial("127.0.0.1", origin.port());
  connector.cancel();
  for (int i = 0; i < 20; ++i) event_base_loop(loop.base(), EVLOOP_NONBLOCK);
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace bloomwall::proxy
