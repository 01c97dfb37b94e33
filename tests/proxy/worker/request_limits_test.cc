// What a client may ask for: how often, how much, how long; and what is kept of connections to origins.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using Pool = ProxyTest;
using RequestLimits = ProxyTest;
using Tunnels = ProxyTest;

constexpr const char* kChunked = "Transfer-Encoding: chunked\r\n";

TEST_F(RequestLimits, MoreRequestsASecondThanAllowedAreAnswered429) {
  given.list = "blocked.test\n";
  given.settings.limits.requests_per_second = 2;
  auto client = new_client();
  for (const int status : {403, 403, 429}) {
    client.send(get("blocked.test"));
    const std::string head = read_answer(client).head;
    ASSERT_EQ(status_of(head), status);
    EXPECT_EQ(field_of(head, "Retry-After").empty(), status != 429) << head;
  }
  given.settings.limits.requests_per_second = 0;
  reload();
  client.send(get("blocked.test"));
  EXPECT_EQ(status_of(client.read_head()), 403) << "the connection is still good, and the limit gone";
}

TEST_F(RequestLimits, ABodyThatSaysItIsTooLongGoesNowhere) {
  given.settings.limits.request_body = 1000;
  auto client = new_client(post_origin(length_field(1001)));
  EXPECT_EQ(status_of(client.read_head()), 413);
  client.read_to_end();
  EXPECT_TRUE(origin.nobody_comes_for(50ms));
  auto small = exchange(post_origin(length_field(1000), std::string(1000, 'x')));
  EXPECT_EQ(small.server.read_exactly(1000), std::string(1000, 'x'));
}

TEST_F(RequestLimits, ABodyThatTurnsOutTooLongIsCut) {
  given.settings.limits.request_body = 1000;
  auto [client, server, asked] = exchange(post_origin(kChunked));
  client.send("200\r\n" + std::string(512, 'a') + "\r\n");
  server.read_until("\r\n" + std::string(512, 'a') + "\r\n");
  client.send("200\r\n" + std::string(512, 'b') + "\r\n");
  EXPECT_EQ(status_of(client.read_head()), 413);
  client.read_to_end();
  EXPECT_EQ(server.read_to_end().find("0\r\n\r\n"), std::string::npos) << "it must not look whole";
}

// What was gathered for one origin when its request broke must not be sent to the next.
TEST_F(RequestLimits, WhatABrokenRequestLeftReachesNobodyElse) {
  auto [client, server, asked] = exchange(post_origin(kChunked));
  client.send("5\r\nSMUGG\r\nZZ\r\n");
  EXPECT_EQ(status_of(client.read_head()), 400);
  auto other = exchange(get_origin("/other"));
  EXPECT_TRUE(other.asked.starts_with("GET /other "));
  EXPECT_TRUE(other.server.is_quiet_for(50ms)) << "not one octet behind the head";
}

TEST_F(RequestLimits, ABodyThatStandsStillIsEnded) {
  given.settings.timeouts.body = 200ms;
  auto [client, server, asked] = exchange(post_origin(length_field(10), "half"));
  EXPECT_EQ(status_of(client.read_head()), 408);
  client.read_to_end();
}

TEST_F(RequestLimits, ABodyThatTheOriginDoesNotTakeIsNotTheClientsFault) {
  given.settings.timeouts.body = 1s;  // the client itself must never be that slow
  auto [client, server, asked] = exchange(post_origin(length_field(100'000'000)));
  bool cut_off = false;
  std::jthread sender([fd = client.fd(), &cut_off] {  // by the descriptor: the client reads at the same time
    const std::string piece(1'000'000, 'u');
    for (int i = 0; i < 100 && !cut_off; ++i) cut_off = ::send(fd, piece.data(), piece.size(), MSG_NOSIGNAL) < 0;
  });
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 504);
  EXPECT_NE(head.find("the origin does not take the request's body"), std::string::npos) << head;
  sender.join();
  EXPECT_TRUE(cut_off);
}

TEST_F(Pool, KeepsNothingWhereNothingMayBeKept) {
  given.settings.limits.pooled_connections = 0;
  auto client = new_client();
  for (int i = 0; i < 2; ++i) {
    client.send(get_origin());
    auto server = origin.accept();
    server.read_head();
    answer(server, client, "x");
    server.expect_end();
  }
}

TEST_F(Pool, AReloadWithLessRoomLetsTheOldestGo) {
  ScriptedListener another;
  auto client = new_client();
  std::vector<ScriptedPeer> kept;
  for (ScriptedListener* listener : {&origin, &another}) {
    client.send(get(listener->authority()));
    kept.push_back(listener->accept());
    kept.back().read_head();
    answer(kept.back(), client, "x");
  }
  wait_for_counter(&Counters::upstream_connections_idle, 2);
  given.settings.limits.pooled_connections = 1;
  reload();
  kept.front().expect_end();
  rest(kept.back());
  client.send(get(another.authority(), "/again"));
  EXPECT_TRUE(kept.back().read_head().starts_with("GET /again ")) << "the younger one is still of use";
}

TEST_F(Tunnels, LiveNoLongerThanTheyMay) {
  given.settings.timeouts.tunnel_lifetime = 300ms;
  auto [client, server] = tunnel();
  const auto began = std::chrono::steady_clock::now();
  const auto deadline = began + kPatience;
  try {
    while (std::chrono::steady_clock::now() < deadline) {  // never idle
      client.send("x");
      server.expect("x");
    }
    ADD_FAILURE() << "it lives on";
  } catch (const std::runtime_error&) {
    EXPECT_GE(std::chrono::steady_clock::now() - began, 250ms);
  }
  wait_for_counter(&Counters::tunnels_active, 0);
  EXPECT_EQ(counter(&Counters::tunnel_lifetime_timeouts_total), 1U);
}

}  // namespace
}  // namespace bloomwall::test
