// Origins that fail, clients that misbehave, and everybody else who must not notice.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <thread>
#include <vector>

#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;

// One whole request on a connection of its own.
void expect_alive(const ProxyHarness& proxy) {
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/alive"));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("alive"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("alive");
}

TEST(Stale, AGetOnAPooledConnectionThatDiedIsSentAgainOnce) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/1"));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("one"));
  client.read_head();
  client.expect("one");
  client.send(get(origin.authority(), "/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 "));
  server.close();  // without an answer
  auto again = origin.accept();
  EXPECT_TRUE(again.read_head().starts_with("GET /2 "));
  again.send(ok("two"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("two");
  EXPECT_EQ(proxy.counter(&Counters::upstream_retries_total), 1u);
}

TEST(Stale, AFreshConnectionThatDiesIsNotRetried) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  origin.accept().read_head();
  EXPECT_EQ(status_of(client.read_head()), 502);
  EXPECT_TRUE(origin.nobody_comes_for(std::chrono::milliseconds(30)));
}

TEST(Stale, APostIsNeverSentTwice) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto warm = origin.accept();
  warm.read_head();
  warm.send(ok("warm"));
  client.read_head();
  client.expect("warm");
  client.send(request("POST", origin.authority(), "/once", "Content-Length: 3\r\n", "abc"));
  auto server = origin.accept();  // not the pooled one, which might be dead
  EXPECT_TRUE(server.read_head().starts_with("POST /once "));
  server.expect("abc");
  server.close();
  EXPECT_EQ(status_of(client.read_head()), 502);
  EXPECT_TRUE(origin.nobody_comes_for(std::chrono::milliseconds(30)));
}

TEST(Stale, AnAnswerThatHasBegunIsNotAskedForAgain) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("one"));
  client.read_head();
  client.expect("one");
  client.send(get(origin.authority()));
  server.read_head();
  server.send("HTTP/1.1 200 OK\r\nX-Half:");
  server.close();
  EXPECT_EQ(status_of(client.read_head()), 502);
}

TEST(Stale, OctetsBeyondAnAnswerAreNobodysAnswer) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("one") + ok("poison"));
  client.read_head();
  client.expect("one");
  server.expect_end();
  client.send(get(origin.authority()));
  auto fresh = origin.accept();
  fresh.read_head();
  fresh.send(ok("two"));
  client.read_head();
  client.expect("two");
  fresh.send("HTTP/1.1 200 OK\r\n");  // on an idle connection
  fresh.expect_end();
}

TEST(Origin, FailuresHaveTheirStatus) {
  HarnessOptions options;
  options.settings.timeouts.response_header = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  struct Row {
    const char* name;
    std::string answer;
    int status;
  };
  for (const Row& row : {Row{"closes without a word", "", 502}, Row{"no http", "HELLO WORLD\r\n\r\n", 502},
                         Row{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502},
                         Row{"unasked 101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 502},
                         Row{"half a head", "HTTP/1.1 200 OK\r\nX:", 502}}) {
    ScriptedListener origin;
    auto client = proxy.client();
    client.send(get(origin.authority()));
    auto server = origin.accept();
    server.read_head();
    if (!row.answer.empty()) server.send(row.answer);
    server.close();
    const std::string head = client.read_head();
    EXPECT_EQ(status_of(head), row.status) << row.name;
    EXPECT_NE(field_of(head, "Proxy-Status"), "") << row.name;
  }
  ScriptedListener silent;
  auto client = proxy.client();
  client.send(get(silent.authority()));
  auto server = silent.accept();
  EXPECT_EQ(status_of(client.read_head()), 504);
  server.read_head();
  auto refused = proxy.client();
  refused.send(get("127.0.0.1:" + std::to_string(closed_port())));
  EXPECT_EQ(status_of(refused.read_head()), 502);
}

TEST(Origin, ANameThatResolvesToNothingHasItsStatus) {
  HarnessOptions options;
  options.settings.timeouts.connect = conf::Milliseconds(300);
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send(get("nothing.invalid"));
  EXPECT_EQ(status_of(client.read_head()), 502);
}

TEST(Origin, ACutBodyDoesNotLookWhole) {
  ProxyHarness proxy;
  for (const char* framing : {"Content-Length: 50\r\n\r\nonly this", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                              "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"}) {
    ScriptedListener origin;
    auto client = proxy.client();
    client.send(get(origin.authority()));
    auto server = origin.accept();
    server.read_head();
    server.send(std::string("HTTP/1.1 200 OK\r\n") + framing);
    server.close();
    EXPECT_EQ(status_of(client.read_head()), 200);
    const std::string rest = client.read_to_end();
    EXPECT_LT(rest.size(), 50u);
    EXPECT_EQ(rest.find("0\r\n\r\n"), std::string::npos);
  }
}

TEST(Client, ASlowHeadGets408) {
  HarnessOptions options;
  options.settings.timeouts.request_header = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send("GET http://127.0.0.1/ HTTP/1.1\r\nX: ");
  EXPECT_EQ(status_of(client.read_head()), 408);
  client.read_to_end();
  auto silent = proxy.client();
  silent.expect_end();
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
}

TEST(Client, OneThatNeverReadsIsCutOff) {
  HarnessOptions options;
  options.settings.timeouts.idle = conf::Milliseconds(300);
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  std::jthread sender([&] {
    try {
      server.send(ok(std::string(64 << 20, 'z')));
    } catch (const std::exception&) {
      // cut off, as it should be
    }
  });
  proxy.wait_for_counter(&Counters::client_connections_active, 0);
  sender.join();
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

TEST(Limits, ClientsBeyondTheirNumberAreTurnedAway) {
  HarnessOptions options;
  options.settings.limits.client_connections = 3;
  ProxyHarness proxy(std::move(options));
  std::vector<ScriptedPeer> held;
  for (int i = 0; i < 3; ++i) held.push_back(proxy.client());
  proxy.wait_for_counter(&Counters::client_connections_active, 3);
  auto refused = proxy.client();
  EXPECT_EQ(status_of(refused.read_head()), 503);
  refused.read_to_end();
  held.pop_back();
  proxy.wait_for_counter(&Counters::client_connections_active, 2);
  expect_alive(proxy);
}

TEST(Limits, OneAddressHasItsShare) {
  HarnessOptions options;
  options.settings.limits.connections_per_client = 2;
  ProxyHarness proxy(std::move(options));
  auto first = proxy.client(), second = proxy.client();
  proxy.wait_for_counter(&Counters::client_connections_active, 2);
  auto third = proxy.client();
  EXPECT_EQ(status_of(third.read_head()), 503);
  auto stranger = ScriptedPeer::connect(proxy.port(), "127.0.0.1");
  stranger.close();
  first.close();
  proxy.wait_for_counter(&Counters::client_connections_active, 1);
  expect_alive(proxy);
}

TEST(Limits, StrangersAreRefused) {
  HarnessOptions options;
  options.settings.access.clients = {"10.0.0.0/8"};
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send(get("ok.test"));
  EXPECT_EQ(status_of(client.read_head()), 403);
  client.read_to_end();
}

void expect_loop(const std::string& head) {
  EXPECT_EQ(status_of(head), 502);
  EXPECT_NE(field_of(head, "Proxy-Status").find("proxy_loop_detected"), std::string::npos) << head;
}

TEST(Loops, ARequestForTheProxyItselfEnds) {
  ProxyHarness proxy;
  const std::string own = "127.0.0.1:" + std::to_string(proxy.port());
  for (const std::string& text :
       {get(own, "/loop"), connect_to(own), get("localhost:" + std::to_string(proxy.port()))}) {
    auto client = proxy.client();
    client.send(text);
    expect_loop(client.read_head());
  }
}

TEST(Loops, ARequestThatComesBackIsKnown) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  const std::string via = field_of(server.read_head(), "Via");
  auto again = proxy.client();
  again.send(get(origin.authority(), "/", "Via: 1.0 other, " + via + "\r\n"));
  expect_loop(again.read_head());
  auto namesake = proxy.client();
  namesake.send(get(origin.authority(), "/", "Via: 1.1 bloomwall (another)\r\n"));
  auto reached = origin.accept();
  EXPECT_TRUE(reached.read_head().find("bloomwall (another)") != std::string::npos);
}

TEST(Descriptors, WhenTheyRunOutThoseWhoAreConnectedAreServedOn) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("one"));
  client.read_head();
  client.expect("one");
  auto waiting_one = ScriptedPeer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit saved{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &saved), 0);
  // This process is the proxy's too: no new descriptor from here on.
  const rlimit none{.rlim_cur = static_cast<rlim_t>(waiting_one.fd() + 1), .rlim_max = saved.rlim_max};
  std::vector<int> plugs;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int fd = dup(0); fd >= 0; fd = dup(0)) plugs.push_back(fd);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(proxy.port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(waiting_one.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  client.send(get(origin.authority(), "/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 "));
  server.send(ok("two"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("two");
  for (const int fd : plugs) ::close(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &saved), 0);
  waiting_one.send("GET http://" + origin.authority() + "/3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(server.read_head().starts_with("GET /3 ")) << "its turn came";
}

TEST(Reload, VerdictsFollowTheNewListAndWhatRunsRunsOn) {
  HarnessOptions options;
  options.list = "blocked.test\n";
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  const std::string port = std::to_string(origin.port());
  auto download = proxy.client();
  download.send(get("ok.test:" + port));
  auto server = origin.accept();
  server.read_head();
  server.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst");
  download.read_head();
  download.expect("first");
  auto keep = proxy.client();
  keep.send(get("blocked.test:" + port));
  std::string head = keep.read_head();
  EXPECT_EQ(status_of(head), 403);
  keep.read_exactly(std::stoul(field_of(head, "Content-Length")));

  proxy.reload_list("ok.test\n");
  server.send("later");
  download.expect("later");
  download.send(get("ok.test:" + port));
  EXPECT_EQ(status_of(download.read_head()), 403) << "the same connection, the next request";
  keep.send(get("blocked.test:" + port));
  auto now_free = origin.accept();
  now_free.read_head();
  now_free.send(ok("free"));
  EXPECT_EQ(status_of(keep.read_head()), 200);
}

TEST(Drain, IdleOnesCloseAtOnceAndRequestsFinish) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto idle = proxy.client();
  auto busy = proxy.client();
  busy.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  auto tunnel = proxy.client();
  tunnel.send(connect_to(origin.authority()));
  auto far = origin.accept();
  tunnel.read_head();
  proxy.wait_for_counter(&Counters::client_connections_active, 3);
  proxy.server().drain(std::chrono::seconds(20));
  idle.expect_end();
  tunnel.send("still");
  far.expect("still");
  server.send(ok("finished"));
  const std::string head = busy.read_head();
  EXPECT_EQ(field_of(head, "Connection"), "close");
  busy.expect("finished");
  busy.expect_end();
  EXPECT_FALSE(proxy.server().ended());
  tunnel.close();
  far.expect_end();
  far.close();
  proxy.server().wait();
  EXPECT_TRUE(proxy.server().ended());
}

TEST(Drain, WhatIsLeftIsCutAtTheDeadline) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto tunnel = proxy.client();
  tunnel.send(connect_to(origin.authority()));
  auto far = origin.accept();
  tunnel.read_head();
  proxy.server().drain(std::chrono::milliseconds(150));
  tunnel.expect_end();
  far.expect_end();
  proxy.server().wait();
}

TEST(Log, EachRequestHasOneLine) {
  HarnessOptions options;
  options.settings.log.access.file = "file";
  options.list = "blocked.test\n";
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/logged?q=1"));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("hello"));
  client.read_head();
  client.expect("hello");
  client.send(get("blocked.test", "/denied"));
  const std::string head = client.read_head();
  client.read_exactly(std::stoul(field_of(head, "Content-Length")));
  auto tunnel = proxy.client();
  tunnel.send(connect_to(origin.authority()) + "x");
  origin.accept().expect("x");
  tunnel.read_head();
  tunnel.close();
  client.close();
  proxy.wait_for_counter(&Counters::client_connections_active, 0);
  const std::string log = proxy.log_text();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3) << log;
  EXPECT_NE(log.find("/logged?q=1"), std::string::npos) << log;
  EXPECT_NE(log.find("\"testlist\""), std::string::npos) << log;
  EXPECT_NE(log.find("CONNECT"), std::string::npos) << log;
}

}  // namespace
}  // namespace bloomwall::test
