// Which connections carry another request, and when: trust is earned by rests alone, and spent by one octet too many.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/net/upstream.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::proxy {
namespace {

using test::ScriptedPeer;

constexpr const char* kHost = "origin.test:80";
constexpr Milliseconds kKeep{60'000}, kShort{30}, kForEver{3'600'000};

// A user of connections that never hears of them, and a loop that is turned by hand.
class UpstreamPoolTest : public testing::Test, public Transport::Handler {
 protected:
  struct Pair {
    UpstreamPtr connection;
    ScriptedPeer origin;
  };
  std::size_t on_data(std::span<const char> bytes) override { return bytes.size(); }
  void on_end() override {}
  void on_drained() override {}
  void on_write_failed(int) override {}
  void on_failed(int) override {}

  void TearDown() override {
    pool_->clear();
    loop.deferred().sweep();  // what is to be deleted leans on the pool
  }
  UpstreamPool& pool_that_rests(Milliseconds rest) { return pool_.emplace(io, counters, nullptr, rest); }
  Pair make(UpstreamPool& pool) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    return {pool.make(UniqueFd(fds[0]), *Endpoint::parse_ip("127.0.0.1"), kHost, *this), ScriptedPeer(fds[1])};
  }
  // So many have carried an answer; what their origins say next is theirs.
  std::vector<ScriptedPeer> put(UpstreamPool& pool, unsigned count, Standing standing = Standing::clear) {
    std::vector<ScriptedPeer> origins;
    for (unsigned i = 0; i < count; ++i) {
      Pair made = make(pool);
      pool.put(std::move(made.connection), standing, kKeep);
      origins.push_back(std::move(made.origin));
    }
    return origins;
  }
  UpstreamPtr take(UpstreamPool& pool) { return pool.take(kHost, *this); }
  // For longer than kShort.
  void turn() {
    bool over = false;
    Timer timer(loop.timers(), [](void* flag) { *static_cast<bool*>(flag) = true; }, &over);
    timer.set(2 * kShort);
    while (!over) event_base_loop(loop.base(), EVLOOP_ONCE);
  }

  EventLoop loop;
  BufferPool buffers{64 << 20};
  std::vector<char> scratch = std::vector<char>(64 * 1024);
  IoContext io{loop, buffers, scratch};
  Counters counters;
  std::optional<UpstreamPool> pool_;
};

TEST_F(UpstreamPoolTest, NothingIsUsedAgainBeforeItHasRested) {
  UpstreamPool& pool = pool_that_rests(kForEver);
  const auto origins = put(pool, 2 * UpstreamPool::kProofs);
  for (unsigned i = 0; i < 3 * UpstreamPool::kProofs; ++i) EXPECT_EQ(take(pool), nullptr);
}

TEST_F(UpstreamPoolTest, RestsEarnTrustAndSuspectAnswersRestAllTheSame) {
  UpstreamPool& pool = pool_that_rests(kShort);
  const auto origins = put(pool, UpstreamPool::kProofs);
  turn();
  std::vector<UpstreamPtr> taken;
  for (unsigned i = 0; i < UpstreamPool::kProofs; ++i) {
    taken.push_back(take(pool));
    ASSERT_NE(taken.back(), nullptr) << i;
  }
  pool.put(std::move(taken.back()), Standing::suspect, kKeep);
  EXPECT_EQ(take(pool), nullptr) << "of a trusted host, but suspect";
  taken.pop_back();
  pool.put(std::move(taken.back()), Standing::clear, kKeep);
  taken.back() = take(pool);
  EXPECT_NE(taken.back(), nullptr) << "before the one that rests";
  EXPECT_EQ(take(pool), nullptr);
  turn();
  EXPECT_NE(take(pool), nullptr);
}

TEST_F(UpstreamPoolTest, OneProofTooFewIsNoTrust) {
  UpstreamPool& pool = pool_that_rests(kShort);
  const auto origins = put(pool, UpstreamPool::kProofs - 1);
  turn();
  std::vector<UpstreamPtr> taken;
  for (unsigned i = 1; i < UpstreamPool::kProofs; ++i) taken.push_back(take(pool));
  pool.put(std::move(taken.back()), Standing::clear, kKeep);
  EXPECT_EQ(take(pool), nullptr);
}

TEST_F(UpstreamPoolTest, AnOctetTooManyWhileOneRestsEndsAllOfItsHost) {
  UpstreamPool& pool = pool_that_rests(kForEver);
  auto origins = put(pool, 4, Standing::suspect);
  origins[2].send("H");
  while (counters.upstream_surplus_total.get() == 0) event_base_loop(loop.base(), EVLOOP_ONCE);
  for (ScriptedPeer& origin : origins) {
    event_base_loop(loop.base(), EVLOOP_NONBLOCK);
    EXPECT_EQ(origin.read_to_end(), "");
  }
  auto later = make(pool);
  pool.put(std::move(later.connection), Standing::clear, kKeep);
  later.origin.expect_end();
}

// Busy hosts always have some.
TEST_F(UpstreamPoolTest, DistrustEndsInItsTimeWhereAHostIsNeverWithoutConnections) {
  UpstreamPool& pool = pool_.emplace(io, counters, nullptr, kForEver, kShort);
  const Pair busy = make(pool);
  pool.distrust(*busy.connection);
  turn();
  auto later = make(pool);
  pool.put(std::move(later.connection), Standing::clear, kKeep);
  EXPECT_EQ(counters.upstream_connections_idle.get(), 1U);
}

// A thousand clients of one origin do not dial it anew again and again, whatever the limits for one at rest are.
TEST_F(UpstreamPoolTest, AsManyAreKeptAsWereInUseAtOnce) {
  UpstreamPool& pool = pool_that_rests(kForEver);
  pool.set_limits(4, 2);
  std::vector<Pair> busy;
  for (int i = 0; i < 300; ++i) busy.push_back(make(pool));
  for (Pair& pair : busy) pool.put(std::move(pair.connection), Standing::clear, kKeep);
  EXPECT_EQ(counters.upstream_connections_idle.get(), 300U);
  pool.set_limits(4, 2);
  EXPECT_EQ(counters.upstream_connections_idle.get(), 300U) << "a reload that changes no limit";
  auto later = make(pool);
  pool.put(std::move(later.connection), Standing::clear, kKeep);
  EXPECT_EQ(counters.upstream_connections_idle.get(), 300U) << "one more than were in use at once";
  pool.set_limits(3, 2);
  EXPECT_EQ(counters.upstream_connections_idle.get(), 3U);
}

TEST_F(UpstreamPoolTest, OneAfterTheOtherNoMoreAreKeptThanTheLimits) {
  UpstreamPool& pool = pool_that_rests(kForEver);
  pool.set_limits(4, 2);
  const auto origins = put(pool, 10);
  EXPECT_EQ(counters.upstream_connections_idle.get(), 2U);
  pool.set_limits(4, 0);
  const auto others = put(pool, 10);
  EXPECT_EQ(counters.upstream_connections_idle.get(), 0U);
}

// Rests of connections that carried bodies, which are too old for another such request when they have rested.
TEST_F(UpstreamPoolTest, WhatMustNotBeSentTwiceHasTheConnectionOfItsOwnClientOnceTheHostIsTrusted) {
  UpstreamPool& pool = pool_that_rests(kShort);
  LastUpstream own, other;
  const auto origins = put(pool, UpstreamPool::kProofs, Standing::after_body);
  EXPECT_EQ(pool.take_fresh(kHost, *this, own), nullptr) << "none has rested";
  turn();
  pool.take_fresh(kHost, *this, own).reset();  // counts them
  pool.clear();
  Pair made = make(pool);
  pool.put(std::move(made.connection), Standing::after_body, kKeep, &own);
  EXPECT_EQ(pool.take_fresh(kHost, *this, other), nullptr) << "of another client";
  EXPECT_EQ(take(pool), nullptr) << "nor for what may be sent again";
  UpstreamPtr taken = pool.take_fresh(kHost, *this, own);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(pool.take_fresh(kHost, *this, own), nullptr) << "it is in use";
  pool.put(std::move(taken), Standing::suspect, kKeep, &own);
  EXPECT_EQ(pool.take_fresh(kHost, *this, own), nullptr) << "after a suspect answer";
}

TEST_F(UpstreamPoolTest, RestsAfterGetAreNoProofThatBodiesAreRead) {
  UpstreamPool& pool = pool_that_rests(kShort);
  LastUpstream own;
  const auto origins = put(pool, UpstreamPool::kProofs);
  turn();
  std::vector<UpstreamPtr> taken;
  for (unsigned i = 0; i < UpstreamPool::kProofs; ++i) taken.push_back(take(pool));
  pool.put(std::move(taken.back()), Standing::after_body, kKeep, &own);
  EXPECT_EQ(pool.take_fresh(kHost, *this, own), nullptr);
  taken.pop_back();
  pool.put(std::move(taken.back()), Standing::clear, kKeep, &own);
  EXPECT_NE(pool.take_fresh(kHost, *this, own), nullptr) << "the last request had no body: anybody's";
}

TEST_F(UpstreamPoolTest, AClientThatIsGoneLeavesItsConnectionToThePool) {
  UpstreamPool& pool = pool_that_rests(kShort);
  auto own = std::make_unique<LastUpstream>();
  Pair made = make(pool), next = make(pool);
  pool.put(std::move(made.connection), Standing::after_body, kKeep, own.get());
  pool.put(std::move(next.connection), Standing::after_body, kKeep, own.get());
  own.reset();
  turn();
  EXPECT_NE(take(pool), nullptr);
  EXPECT_NE(take(pool), nullptr);
}

// Else connections that nobody uses would keep out those that are used.
TEST_F(UpstreamPoolTest, OfATrustedHostWhatHasRestedMakesRoom) {
  UpstreamPool& pool = pool_that_rests(kShort);
  pool.set_limits(4096, UpstreamPool::kProofs);
  LastUpstream own;
  const auto origins = put(pool, UpstreamPool::kProofs, Standing::after_body);
  Pair made = make(pool);
  pool.put(std::move(made.connection), Standing::after_body, kKeep, &own);
  EXPECT_EQ(counters.upstream_connections_idle.get(), UpstreamPool::kProofs) << "the new one is not kept";
  turn();
  pool.take_fresh(kHost, *this, own).reset();
  const auto more = put(pool, UpstreamPool::kProofs, Standing::after_body);
  turn();
  made = make(pool);
  pool.put(std::move(made.connection), Standing::after_body, kKeep, &own);
  EXPECT_EQ(counters.upstream_connections_idle.get(), UpstreamPool::kProofs);
  EXPECT_NE(pool.take_fresh(kHost, *this, own), nullptr);
}

TEST(RecentPeak, IsOfTheWindowAndTheOneBefore) {
  struct Row {
    std::int64_t at;  // in windows, by tenths
    std::size_t count, peak;
  };
  RecentPeak peak;
  for (const Row& row : std::vector<Row>{{100, 5, 5},
                                         {101, 3, 5},
                                         {109, 9, 9},
                                         {110, 2, 9},
                                         {119, 1, 9},
                                         {120, 1, 2},
                                         {129, 7, 7},
                                         {150, 1, 1},
                                         {151, 0, 1}}) {
    EXPECT_EQ(peak.note(row.count, RecentPeak::kWindow * row.at / 10), row.peak) << row.at;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
