// Clients that are slow, broken or gone, and everybody else who must not notice.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;

TEST(Client, ASlowHeadGets408) {
  HarnessOptions options;
  options.settings.timeouts.request_header = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send("GET http://127.0.0.1/ HTTP/1.1\r\nX: ");
  EXPECT_EQ(status_of(client.read_head()), 408);
  client.read_to_end();
}

TEST(Client, AnIdleConnectionIsClosedInItsTime) {
  HarnessOptions options;
  options.settings.timeouts.idle = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("x"));
  client.read_head();
  client.expect("x");
  client.expect_end();
  server.expect_end();
  EXPECT_EQ(proxy.counter(&Counters::client_idle_timeouts_total), 1U);
}

TEST(Client, OneThatNeverReadsIsCutOff) {
  HarnessOptions options;
  options.settings.timeouts.body = conf::Milliseconds(300);
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  bool cut_off = false;
  std::jthread sender([&] {
    try {
      server.send(ok(std::string(64 << 20, 'z')));
    } catch (const std::exception&) {
      cut_off = true;
    }
  });
  proxy.wait_for_counter(&Counters::client_connections_active, 0);
  sender.join();
  EXPECT_TRUE(cut_off);
  const auto counters = std::make_unique<Counters>();
  proxy.server().add_counters_to(*counters);
  EXPECT_EQ(counters->errors[static_cast<std::size_t>(proxy::ErrorKind::client_stalled)].get(), 1U);
  expect_alive(proxy);
}

// Its origin is, in the middle of an answer: the cut is seen, and told as the origin's.
TEST(Client, IsCutOffFromAnOriginThatStandsStill) {
  HarnessOptions options;
  options.settings.timeouts.body = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  server.send("HTTP/1.1 200 OK\r\n\r\nhalf");  // as long as it lasts: chunked for the client
  client.read_head();
  EXPECT_THROW(client.read_chunked(), std::runtime_error) << "it must not look whole";
  proxy.wait_for_counter(&Counters::client_connections_active, 0);
  const auto counters = std::make_unique<Counters>();
  proxy.server().add_counters_to(*counters);
  EXPECT_EQ(counters->errors[static_cast<std::size_t>(proxy::ErrorKind::upstream_timeout)].get(), 1U);
}

TEST(Client, OneThatAsksAndNeverReadsFillsNoMemory) {
  HarnessOptions options;
  options.list = "blocked.test\n";
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  const std::string one = get("blocked.test", "/" + std::string(200, 'p'));
  std::string many;
  for (int i = 0; i < 200; ++i) many += one;
  // As much as goes in without an answer being read.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  std::uint64_t peak = 0;
  while (std::chrono::steady_clock::now() < until) {
    if (::send(client.fd(), many.data(), many.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) std::this_thread::yield();
    peak = std::max(peak, proxy.server().gauges().buffer_bytes);
  }
  EXPECT_LT(peak, 1u << 20);
  expect_alive(proxy);
}

TEST(Client, ABrokenRequestIsAnsweredAndNothingAfterItIsBelieved) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send("GET http://" + origin.authority() + "/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" +
              get(origin.authority(), "/smug"));
  EXPECT_EQ(status_of(client.read_head()), 400);
  EXPECT_EQ(client.read_to_end().find("HTTP/1.1"), std::string::npos);
  EXPECT_TRUE(origin.nobody_comes_for(std::chrono::milliseconds(20)));
}

TEST(Client, ABadChunkIsNotCompletedAtTheOrigin) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(request("POST", origin.authority(), "/", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"));
  auto server = origin.accept();
  server.read_head();
  server.expect("5\r\nhello\r\n");
  client.send("zz\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 400);
  server.expect_end();
}

TEST(Client, TheBodyOfADeniedRequestIsNoRequest) {
  HarnessOptions options;
  options.list = "blocked.test\n";
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  const std::string inner = get(origin.authority(), "/smug");
  auto client = proxy.client();
  client.send(request("POST", "blocked.test:" + std::to_string(origin.port()), "/",
                      "Content-Length: " + std::to_string(inner.size()) + "\r\n", inner) +
              get(origin.authority(), "/next"));
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 403);
  client.read_exactly(std::stoul(field_of(head, "Content-Length")));
  auto server = origin.accept();
  EXPECT_TRUE(server.read_head().starts_with("GET /next ")) << "drained, and the connection goes on";
}

TEST(Client, ALargeBodyOfADeniedRequestEndsTheConnection) {
  HarnessOptions options;
  options.list = "blocked.test\n";
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send(request("POST", "blocked.test", "/", "Content-Length: 10000000\r\n", std::string(50'000, 'x')));
  EXPECT_EQ(status_of(client.read_head()), 403);
  client.read_to_end();
}

TEST(Client, OneThatVanishesLeavesNothingBehind) {
  ProxyHarness proxy;
  ScriptedListener origin;
  {
    std::vector<ScriptedPeer> clients;
    for (int i = 0; i < 50; ++i) {
      clients.push_back(proxy.client());
      clients.back().send(i % 2 == 0 ? get(origin.authority()) : std::string("GET http://half"));
    }
    for (int i = 0; i < 25; ++i) origin.accept().read_head();
    for (auto& client : clients) client.reset();
  }
  proxy.wait_for_counter(&Counters::client_connections_active, 0);
  proxy.wait_for_counter(&Counters::upstream_connections_active, 0);
  EXPECT_EQ(proxy.server().gauges().buffer_bytes, 0u);
  expect_alive(proxy);
}

}  // namespace
}  // namespace bloomwall::test
