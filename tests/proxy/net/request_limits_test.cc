// What a client may ask for: how often, how much, how long; and what is kept of connections to origins.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;

std::string chunked_post(const std::string& authority) {
  return request("POST", authority, "/", "Transfer-Encoding: chunked\r\n");
}

TEST(RequestLimits, MoreRequestsASecondThanAllowedAreAnswered429) {
  HarnessOptions options;
  options.list = "blocked.test\n";
  options.settings.limits.requests_per_second = 2;
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  for (const int status : {403, 403, 429}) {
    client.send(get("blocked.test"));
    const std::string head = client.read_head();
    ASSERT_EQ(status_of(head), status);
    EXPECT_EQ(field_of(head, "Retry-After").empty(), status != 429) << head;
    client.read_exactly(std::stoul(field_of(head, "Content-Length")));
  }
  auto settings = proxy.settings();
  settings.limits.requests_per_second = 0;
  proxy.reload(settings);
  client.send(get("blocked.test"));
  EXPECT_EQ(status_of(client.read_head()), 403) << "the connection is still good, and the limit gone";
}

TEST(RequestLimits, ABodyThatSaysItIsTooLongGoesNowhere) {
  HarnessOptions options;
  options.settings.limits.request_body = 1000;
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(request("POST", origin.authority(), "/", "Content-Length: 1001\r\n"));
  EXPECT_EQ(status_of(client.read_head()), 413);
  client.read_to_end();
  EXPECT_TRUE(origin.nobody_comes_for(std::chrono::milliseconds(50)));
  auto small = proxy.client();
  small.send(request("POST", origin.authority(), "/", "Content-Length: 1000\r\n", std::string(1000, 'x')));
  auto server = origin.accept();
  server.read_head();
  EXPECT_EQ(server.read_exactly(1000), std::string(1000, 'x'));
}

TEST(RequestLimits, ABodyThatTurnsOutTooLongIsCut) {
  HarnessOptions options;
  options.settings.limits.request_body = 1000;
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(chunked_post(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  client.send("200\r\n" + std::string(512, 'a') + "\r\n");
  server.read_until("\r\n" + std::string(512, 'a') + "\r\n");
  client.send("200\r\n" + std::string(512, 'b') + "\r\n");
  EXPECT_EQ(status_of(client.read_head()), 413);
  client.read_to_end();
  EXPECT_EQ(server.read_to_end().find("0\r\n\r\n"), std::string::npos) << "it must not look whole";
}

// What was gathered for one origin when its request broke must not be sent to the next.
TEST(RequestLimits, WhatABrokenRequestLeftReachesNobodyElse) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(chunked_post(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  client.send("5\r\nSMUGG\r\nZZ\r\n");
  EXPECT_EQ(status_of(client.read_head()), 400);
  auto other = proxy.client();
  other.send(get(origin.authority(), "/other"));
  auto second = origin.accept();
  EXPECT_TRUE(second.read_head().starts_with("GET /other "));
  EXPECT_TRUE(second.is_quiet_for(std::chrono::milliseconds(50))) << "not one octet behind the head";
}

TEST(RequestLimits, ABodyThatStandsStillIsEnded) {
  HarnessOptions options;
  options.settings.timeouts.body = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(request("POST", origin.authority(), "/", "Content-Length: 10\r\n", "half"));
  auto server = origin.accept();
  server.read_head();
  EXPECT_EQ(status_of(client.read_head()), 408);
  client.read_to_end();
}

TEST(RequestLimits, ABodyThatTheOriginDoesNotTakeIsNotTheClientsFault) {
  HarnessOptions options;
  options.settings.timeouts.body = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(request("POST", origin.authority(), "/", "Content-Length: 100000000\r\n"));
  auto server = origin.accept();
  server.read_head();
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

TEST(Pool, KeepsNothingWhereNothingMayBeKept) {
  HarnessOptions options;
  options.settings.limits.pooled_connections = 0;
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  for (int i = 0; i < 2; ++i) {
    client.send(get(origin.authority()));
    auto server = origin.accept();
    server.read_head();
    server.send(ok("x"));
    client.read_head();
    client.expect("x");
    server.expect_end();
  }
}

TEST(Pool, AReloadWithLessRoomLetsTheOldestGo) {
  ProxyHarness proxy;
  ScriptedListener one, two;
  auto client = proxy.client();
  std::vector<ScriptedPeer> kept;
  for (ScriptedListener* origin : {&one, &two}) {
    client.send(get(origin->authority()));
    kept.push_back(origin->accept());
    kept.back().read_head();
    kept.back().send(ok("x"));
    client.read_head();
    client.expect("x");
  }
  proxy.wait_for_counter(&Counters::upstream_connections_idle, 2);
  auto settings = proxy.settings();
  settings.limits.pooled_connections = 1;
  proxy.reload(settings);
  kept.front().expect_end();
  client.send(get(two.authority(), "/again"));
  EXPECT_TRUE(kept.back().read_head().starts_with("GET /again ")) << "the younger one is still of use";
}

TEST(Tunnels, LiveNoLongerThanTheyMay) {
  HarnessOptions options;
  options.settings.timeouts.tunnel_lifetime = conf::Milliseconds(300);
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(connect_to(origin.authority()));
  auto server = origin.accept();
  client.read_head();
  const auto began = std::chrono::steady_clock::now();
  try {
    for (;;) {  // never idle
      client.send("x");
      server.expect("x");
    }
  } catch (const std::runtime_error&) {
    EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(250));
  }
  proxy.wait_for_counter(&Counters::tunnels_active, 0);
  EXPECT_EQ(proxy.counter(&Counters::tunnel_lifetime_timeouts_total), 1U);
}

}  // namespace
}  // namespace bloomwall::test
