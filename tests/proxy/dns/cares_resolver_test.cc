// SPDX-License-Identifier: Apache-2.0
#include "proxy/dns/cares_resolver.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/scripted_dns.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::proxy {
namespace {

using test::ScriptedDns;

// Asks, and notes what it is told.
struct Asker final : Query::Handler {
  void on_resolved(Query&) override { ++told; }
  bool is_settled() const {
    return query.state(Family::v4) == Query::State::done && query.state(Family::v6) == Query::State::done;
  }
  std::string text(Family family) const {
    const FamilyAnswer& answer = query.answer(family);
    std::string out = answer.error == ResolveError::none ? "" : to_string(answer.error);
    for (const Endpoint& address : answer.addresses) out += (out.empty() ? "" : " ") + address.ip();
    return out;
  }
  int told = 0;
  Query query{*this};
};

class CaresResolverTest : public testing::Test {
 protected:
  CaresResolverTest() {
    conf::Dns settings;
    settings.servers = {dns.address()};
    auto made = CaresResolver::create(loop, settings, 100);
    EXPECT_TRUE(made) << made.error();
    resolver = *std::move(made);
  }
  void settle(Asker& asker) {
    const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
    while (!asker.is_settled()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "no answer";
      event_base_loop(loop.base(), EVLOOP_ONCE);
    }
  }
  ScriptedDns dns;
  EventLoop loop;
  std::unique_ptr<CaresResolver> resolver;
};

TEST_F(CaresResolverTest, AsksBothFamiliesAndRemembers) {
  dns.set("both.example", {.v4 = {"10.0.0.1", "10.0.0.2"}, .v6 = {"2001:db8::1"}});
  Asker first;
  resolver->resolve(first.query, "both.example");
  settle(first);
  EXPECT_EQ(first.told, 2);
  EXPECT_EQ(first.text(Family::v6), "2001:db8::1");
  EXPECT_EQ(first.query.answer(Family::v4).addresses.size(), 2u);
  Asker second;
  resolver->resolve(second.query, "both.example");
  EXPECT_TRUE(second.is_settled()) << "from memory, at once";
  EXPECT_EQ(second.told, 0);
  EXPECT_EQ(dns.asked("both.example", false), 1);
  EXPECT_EQ(dns.asked("both.example", true), 1);
  EXPECT_EQ(resolver->counts().cache_hits.load(), 2u);
}

TEST_F(CaresResolverTest, FollowsAliases) {
  dns.set("www.example", {.v4 = {"10.0.0.9"}, .alias = "origin.example"});
  Asker asker;
  resolver->resolve(asker.query, "www.example");
  settle(asker);
  EXPECT_EQ(asker.text(Family::v4), "10.0.0.9");
}

TEST_F(CaresResolverTest, SaysWhyThereIsNoAddress) {
  dns.set("v4only.example", {.v4 = {"10.0.0.1"}});
  dns.set("sick.example", {.server_failure = true});
  Asker v4only, gone, sick;
  resolver->resolve(v4only.query, "v4only.example");
  resolver->resolve(gone.query, "gone.example");
  resolver->resolve(sick.query, "sick.example");
  settle(v4only);
  settle(gone);
  settle(sick);
  EXPECT_EQ(v4only.text(Family::v4), "10.0.0.1");
  EXPECT_EQ(v4only.text(Family::v6), "no_address");
  EXPECT_EQ(gone.text(Family::v4), "no_such_name");
  EXPECT_EQ(sick.text(Family::v4), "failed");
}

TEST_F(CaresResolverTest, NeverAppendsASearchDomainAndNeverAsksForNumbersOrSpecialNames) {
  for (const char* name : {"short", "127.1", "example.0x7f", "host.invalid", "invalid", "facebookcorewwwi.onion"}) {
    Asker asker;
    resolver->resolve(asker.query, name);
    settle(asker);
    EXPECT_NE(asker.text(Family::v4), "") << name;
  }
  EXPECT_EQ(dns.asked_in_all(), 2) << "both families of `short`, and nothing else";
  EXPECT_EQ(dns.asked("short", false), 1);
}

TEST_F(CaresResolverTest, EqualQuestionsAreAskedOnce) {
  dns.set("busy.example", {.v4 = {"10.0.0.1"}});
  std::vector<std::unique_ptr<Asker>> askers;
  for (int i = 0; i < 50; ++i) {
    askers.push_back(std::make_unique<Asker>());
    resolver->resolve(askers.back()->query, "busy.example");
  }
  for (const auto& asker : askers) settle(*asker);
  for (const auto& asker : askers) EXPECT_EQ(asker->text(Family::v4), "10.0.0.1");
  EXPECT_EQ(dns.asked("busy.example", false), 1);
}

TEST_F(CaresResolverTest, ATtlOfZeroIsAskedAnew) {
  dns.set("fickle.example", {.v4 = {"10.0.0.1"}, .ttl = 0});
  for (int i = 0; i < 3; ++i) {
    Asker asker;
    resolver->resolve(asker.query, "fickle.example");
    settle(asker);
  }
  EXPECT_EQ(dns.asked("fickle.example", false), 3);
}

TEST_F(CaresResolverTest, AnAskerMayLeaveAndTheOthersAreTold) {
  dns.set("wait.example", {.v4 = {"10.0.0.1"}});
  auto leaving = std::make_unique<Asker>();
  Asker staying;
  resolver->resolve(leaving->query, "wait.example");
  resolver->resolve(staying.query, "wait.example");
  leaving.reset();
  settle(staying);
  EXPECT_EQ(staying.text(Family::v4), "10.0.0.1");
}

TEST_F(CaresResolverTest, ASilentServerHoldsUpNobodyElse) {
  dns.set("silent.example", {.silent = true});
  dns.set("fine.example", {.v4 = {"10.0.0.1"}});
  Asker stuck, fine;
  resolver->resolve(stuck.query, "silent.example");
  resolver->resolve(fine.query, "fine.example");
  settle(fine);
  EXPECT_EQ(fine.text(Family::v4), "10.0.0.1");
  EXPECT_EQ(stuck.query.state(Family::v4), Query::State::pending);
  resolver.reset();  // its end answers what is open
  EXPECT_TRUE(stuck.is_settled());
  EXPECT_EQ(stuck.text(Family::v4), "failed");
}

TEST_F(CaresResolverTest, ATcpConnectionThatStallsIsTriedAgain) {
  dns.set("long.example", {.v4 = {"10.0.0.1"}, .truncated = true});
  dns.stall_tcp(1);
  Asker asker;
  resolver->resolve(asker.query, "long.example");
  settle(asker);
  EXPECT_EQ(asker.text(Family::v4), "10.0.0.1");
}

// c-ares sends every question on the connection that it has to a server, and keeps that as long as any is open on it.
TEST_F(CaresResolverTest, ATcpConnectionThatStallsIsLeftThoughNamesAreAskedForAllTheTime) {
  dns.stall_tcp(1);
  std::vector<std::unique_ptr<Asker>> askers;
  const auto ask = [&](const std::string& name) {
    dns.set(name, {.v4 = {"10.0.0.1"}, .truncated = true});
    askers.push_back(std::make_unique<Asker>());
    resolver->resolve(askers.back()->query, name);
  };
  Timer timer(
      loop.timers(), [](void* loop_of) { event_base_loopbreak(static_cast<EventLoop*>(loop_of)->base()); }, &loop);
  const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
  ask("first.example");
  while (!askers.front()->is_settled()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "no answer while others ask";
    timer.set(Milliseconds(500));
    event_base_dispatch(loop.base());
    ask("n" + std::to_string(askers.size()) + ".example");
  }
  for (const auto& asker : askers) {
    settle(*asker);
    EXPECT_EQ(asker->text(Family::v4), "10.0.0.1");
  }
}

constexpr ResolvingClient kGreedy{1}, kOther{2};

TEST_F(CaresResolverTest, AClientHasItsShareAndItsOtherNamesWaitTheirTurn) {
  std::vector<std::unique_ptr<Asker>> stuck;
  for (int i = 0; i < 500; ++i) {
    const std::string name = "n" + std::to_string(i) + ".silent.example";
    dns.set(name, {.silent = true});
    stuck.push_back(std::make_unique<Asker>());
    stuck.back()->query.set_client(kGreedy);
    resolver->resolve(stuck.back()->query, name);
  }
  EXPECT_LE(resolver->open(), CaresResolver::kMostOfClient);
  dns.set("fine.example", {.v4 = {"10.0.0.1"}});
  Asker other;
  other.query.set_client(kOther);
  resolver->resolve(other.query, "fine.example");
  settle(other);
  EXPECT_EQ(other.text(Family::v4), "10.0.0.1");
}

TEST_F(CaresResolverTest, ManyNamesOfOneClientAreAllAnsweredInTheEnd) {
  constexpr int kNames = 400;
  std::vector<std::unique_ptr<Asker>> askers;
  for (int i = 0; i < kNames; ++i) {
    const std::string name = "n" + std::to_string(i) + ".example";
    dns.set(name, {.v4 = {"10.0.0." + std::to_string(i % 250)}});
    askers.push_back(std::make_unique<Asker>());
    askers.back()->query.set_client(kGreedy);
    resolver->resolve(askers.back()->query, name);
  }
  askers[kNames - 2].reset();  // leaves while it waits for its turn
  for (const auto& asker : askers) {
    if (asker != nullptr) settle(*asker);
  }
  EXPECT_EQ(askers.back()->text(Family::v4), "10.0.0.149");
  EXPECT_EQ(resolver->open(), 0U);
}

TEST_F(CaresResolverTest, ManyClientsNeverTakeAllTheRoom) {
  dns.set("fine.example", {.v4 = {"10.0.0.1"}});
  std::vector<std::unique_ptr<Asker>> stuck;
  for (int i = 0; i < 6000; ++i) {
    const std::string name = "n" + std::to_string(i) + ".silent.example";
    dns.set(name, {.silent = true});
    stuck.push_back(std::make_unique<Asker>());
    stuck.back()->query.set_client({3, static_cast<std::uint8_t>(i % 60)});
    resolver->resolve(stuck.back()->query, name);
  }
  stuck.clear();  // their questions stay on their accounts
  EXPECT_LT(resolver->open(), CaresResolver::kMaxOpen);
  Asker other;
  other.query.set_client(kOther);
  resolver->resolve(other.query, "fine.example");
  settle(other);
  EXPECT_EQ(other.text(Family::v4), "10.0.0.1");
}

TEST_F(CaresResolverTest, WithoutASocketToAskWithNothingIsRemembered) {
  dns.set("later.example", {.v4 = {"10.0.0.1"}});
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &saved), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = saved.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  Asker early;
  resolver->resolve(early.query, "later.example");
  settle(early);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &saved), 0);
  EXPECT_EQ(early.text(Family::v4), "overloaded");
  Asker later;
  resolver->resolve(later.query, "later.example");
  settle(later);
  EXPECT_EQ(later.text(Family::v4), "10.0.0.1");
}

TEST(CaresResolverSettings, ABadServerIsAnError) {
  EventLoop loop;
  conf::Dns settings;
  settings.servers = {"ns.example"};
  const auto made = CaresResolver::create(loop, settings, 10);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), "dns.servers: expected ip or ip:port, got ns.example");
}

}  // namespace
}  // namespace bloomwall::proxy
