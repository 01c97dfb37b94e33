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

#include "proxy/upstream/upstream.h"
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
  UpstreamPool& pool_that_rests(Milliseconds rest) { return pool_.emplace(io, counters, nullptr, &places, rest); }
  Pair make(UpstreamPool& pool) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    return {pool.make(UniqueFd(fds[0]), *Endpoint::parse_ip("127.0.0.1"), kHost, *this), ScriptedPeer(fds[1])};
  }
  // So many have carried an answer; what their origins say next is theirs.
  std::vector<ScriptedPeer> put(UpstreamPool& pool, unsigned count, Standing standing = Standing::clear,
                                OwnUpstreams* own = nullptr) {
    std::vector<ScriptedPeer> origins;
    for (unsigned i = 0; i < count; ++i) {
      Pair made = make(pool);
      pool.put(std::move(made.connection), standing, kKeep, own);
      origins.push_back(std::move(made.origin));
    }
    return origins;
  }
  UpstreamPtr take(UpstreamPool& pool, OwnUpstreams* own = nullptr) { return pool.take(kHost, *this, own); }
  UpstreamPtr take_fresh(UpstreamPool& pool, OwnUpstreams* own) { return pool.take_fresh(kHost, *this, own); }
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
  OriginPlaces places;
  std::optional<UpstreamPool> pool_;
};

TEST_F(UpstreamPoolTest, NobodyElseUsesOneBeforeItHasRested) {
  UpstreamPool& pool = pool_that_rests(kForEver);
  const auto origins = put(pool, 2 * UpstreamPool::kProofs);
  for (unsigned i = 0; i < 3 * UpstreamPool::kProofs; ++i) EXPECT_EQ(take(pool), nullptr);
}

TEST_F(UpstreamPoolTest, RestsEarnTrust) {
  UpstreamPool& pool = pool_that_rests(kShort);
  const auto origins = put(pool, UpstreamPool::kProofs);
  turn();
  std::vector<UpstreamPtr> taken;
  for (unsigned i = 0; i < UpstreamPool::kProofs; ++i) {
    taken.push_back(take(pool));
    ASSERT_NE(taken.back(), nullptr) << i;
  }
  OwnUpstreams own;
  pool.put(std::move(taken.back()), Standing::doubtful, kKeep, &own);
  EXPECT_EQ(take(pool), nullptr) << "of a trusted host, but doubtful";
  taken.pop_back();
  pool.put(std::move(taken.back()), Standing::clear, kKeep);
  taken.back() = take(pool);
  EXPECT_NE(taken.back(), nullptr) << "at once";
  EXPECT_EQ(take(pool), nullptr);
  turn();
  EXPECT_EQ(take(pool), nullptr) << "however long it has rested";
}

// Else an origin that answers by 304 alone would never be trusted.
TEST_F(UpstreamPoolTest, RestsAfterAnyAnswerEarnTrust) {
  UpstreamPool& pool = pool_that_rests(kShort);
  std::vector<std::unique_ptr<OwnUpstreams>> clients;
  std::vector<std::vector<ScriptedPeer>> origins;
  for (unsigned i = 0; i < UpstreamPool::kProofs; ++i) {
    clients.push_back(std::make_unique<OwnUpstreams>());
    origins.push_back(put(pool, 1, Standing::doubtful, clients.back().get()));
  }
  turn();
  EXPECT_EQ(take(pool), nullptr);
  const auto last = put(pool, 1);
  EXPECT_NE(take(pool), nullptr) << "at once";
}

TEST_F(UpstreamPoolTest, AClientHasItsOwnBackAtOnce) {
  for (const Standing standing : {Standing::clear, Standing::doubtful}) {
    for (const bool may_repeat : {true, false}) {
      UpstreamPool& pool = pool_that_rests(kForEver);
      OwnUpstreams own, other;
      const auto origins = put(pool, 1, standing, &own);
      const auto take_for = [&](OwnUpstreams* client) {
        return may_repeat ? take(pool, client) : take_fresh(pool, client);
      };
      EXPECT_EQ(take_for(&other), nullptr) << "another client";
      EXPECT_EQ(take_for(nullptr), nullptr) << "one that speaks for many";
      UpstreamPtr taken = take_for(&own);
      ASSERT_NE(taken, nullptr);
      EXPECT_EQ(take_for(&own), nullptr) << "it is in use";
      pool.put(std::move(taken), standing, kKeep, &own);
      EXPECT_NE(take_for(&own), nullptr) << "again";
      loop.deferred().sweep();
    }
  }
}

TEST_F(UpstreamPoolTest, AnOctetTooManyIsNotTakenForTheAnswerToItsOwnClient) {
  UpstreamPool& pool = pool_that_rests(kForEver);
  OwnUpstreams own;
  auto origins = put(pool, 3, Standing::doubtful, &own);
  origins[2].send("H");
  EXPECT_EQ(take(pool, &own), nullptr);
  EXPECT_EQ(counters.upstream_connections_idle.get(), 0U) << "nor are the others kept";
}

TEST_F(UpstreamPoolTest, OneThatHasEndedGivesWayToTheNextOfItsClient) {
  UpstreamPool& pool = pool_that_rests(kForEver);
  OwnUpstreams own;
  auto origins = put(pool, 3, Standing::clear, &own);
  origins.pop_back();
  EXPECT_NE(take(pool, &own), nullptr);
}

TEST_F(UpstreamPoolTest, AClientHasABoundedNumberOfItsOwn) {
  UpstreamPool& pool = pool_that_rests(kForEver);
  OwnUpstreams own;
  auto origins = put(pool, OwnUpstreams::kMost + 2, Standing::doubtful, &own);
  EXPECT_EQ(counters.upstream_connections_idle.get(), OwnUpstreams::kMost);
  for (unsigned i = 0; i < OwnUpstreams::kMost; ++i) {
    UpstreamPtr taken = take(pool, &own);
    ASSERT_NE(taken, nullptr) << i;
    taken.reset();
  }
  EXPECT_EQ(take(pool, &own), nullptr);
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
  auto origins = put(pool, 4);
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
  UpstreamPool& pool = pool_.emplace(io, counters, nullptr, &places, kForEver, kShort);
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

// It would be sent on a connection that its server is about to close.
TEST_F(UpstreamPoolTest, WhatMustNotBeSentTwiceHasAnotherClientsOnceTheHostIsTrusted) {
  UpstreamPool& pool = pool_that_rests(kShort);
  OwnUpstreams own;
  const auto origins = put(pool, UpstreamPool::kProofs);
  EXPECT_EQ(take_fresh(pool, &own), nullptr) << "none has rested";
  turn();
  std::vector<UpstreamPtr> taken;
  for (unsigned i = 0; i < UpstreamPool::kProofs; ++i) taken.push_back(take(pool));
  pool.put(std::move(taken.back()), Standing::clear, kKeep);
  EXPECT_NE(take_fresh(pool, &own), nullptr);
}

TEST_F(UpstreamPoolTest, WhatAClientLeavesIsForAllOrClosed) {
  UpstreamPool& pool = pool_that_rests(kShort);
  auto own = std::make_unique<OwnUpstreams>();
  auto clear = put(pool, 1, Standing::clear, own.get());
  auto doubtful = put(pool, 1, Standing::doubtful, own.get());
  auto of_nobody = put(pool, 1, Standing::doubtful);
  of_nobody[0].expect_end();
  EXPECT_EQ(counters.upstream_connections_idle.get(), 2U);
  own.reset();
  doubtful[0].expect_end();
  EXPECT_EQ(counters.upstream_connections_idle.get(), 1U);
  turn();
  EXPECT_NE(take(pool), nullptr);
}

// Else connections that nobody uses would keep out those that are used.
TEST_F(UpstreamPoolTest, WhatIsSpareMakesRoom) {
  UpstreamPool& pool = pool_that_rests(kShort);
  pool.set_limits(4096, UpstreamPool::kProofs);
  const auto origins = put(pool, UpstreamPool::kProofs);
  const auto refused = put(pool, 1);
  EXPECT_EQ(counters.upstream_connections_idle.get(), UpstreamPool::kProofs) << "the new one is not kept";
  turn();
  std::vector<UpstreamPtr> taken;
  for (unsigned i = 0; i < UpstreamPool::kProofs; ++i) taken.push_back(take(pool));
  for (UpstreamPtr& one : taken) pool.put(std::move(one), Standing::clear, kKeep);
  turn();
  OwnUpstreams own;
  for (unsigned i = 0; i < 2; ++i) {
    const auto kept = put(pool, 1, Standing::doubtful, &own);
    EXPECT_EQ(counters.upstream_connections_idle.get(), UpstreamPool::kProofs);
    EXPECT_NE(take(pool, &own), nullptr);
  }
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
