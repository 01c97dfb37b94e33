// Limits, loops and exhausted descriptors.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;

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
  EXPECT_GE(proxy.counter(&Counters::accept_pauses_total), 1U);
  EXPECT_LE(proxy.counter(&Counters::accept_pauses_total), 50U) << "it spins instead of pausing";
  for (const int fd : plugs) ::close(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &saved), 0);
  waiting_one.send("GET http://" + origin.authority() + "/3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(server.read_head().starts_with("GET /3 ")) << "its turn came";
}

}  // namespace
}  // namespace bloomwall::test
