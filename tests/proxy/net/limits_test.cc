// Limits, loops and exhausted descriptors.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <string>
#include <vector>

#include "tests/proxy/net/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using Descriptors = ProxyTest;
using Limits = ProxyTest;
using Loops = ProxyTest;

TEST_F(Limits, ClientsBeyondTheirNumberAreTurnedAway) {
  given.settings.limits.client_connections = 3;
  std::vector<ScriptedPeer> held;
  for (int i = 0; i < 3; ++i) held.push_back(new_client());
  wait_for_counter(&Counters::client_connections_active, 3);
  auto refused = new_client();
  EXPECT_EQ(status_of(refused.read_head()), 503);
  refused.read_to_end();
  held.pop_back();
  wait_for_counter(&Counters::client_connections_active, 2);
  expect_alive();
}

TEST_F(Limits, OneAddressHasItsShare) {
  given.settings.limits.connections_per_client = 2;
  auto first = new_client(), second = new_client();
  wait_for_counter(&Counters::client_connections_active, 2);
  auto third = new_client();
  EXPECT_EQ(status_of(third.read_head()), 503);
  new_client().close();
  first.close();
  wait_for_counter(&Counters::client_connections_active, 1);
  expect_alive();
}

TEST_F(Limits, StrangersAreRefused) {
  given.settings.access.clients = {"10.0.0.0/8"};
  auto client = new_client(get("ok.test"));
  EXPECT_EQ(status_of(client.read_head()), 403);
  client.read_to_end();
}

void expect_loop(const std::string& head) {
  EXPECT_EQ(status_of(head), 502);
  EXPECT_NE(field_of(head, "Proxy-Status").find("proxy_loop_detected"), std::string::npos) << head;
}

TEST_F(Loops, ARequestForTheProxyItselfEnds) {
  const std::string port = ":" + std::to_string(the_proxy().addresses().front().port());
  for (const std::string& text :
       {get("127.0.0.1" + port, "/loop"), connect_to("127.0.0.1" + port), get("localhost" + port)}) {
    expect_loop(reply_to(text));
  }
}

TEST_F(Loops, ARequestThatComesBackIsKnown) {
  const auto first = exchange();
  const std::string via = field_of(first.asked, "Via");
  expect_loop(reply_to(get_origin("/", "Via: 1.0 other, " + via + "\r\n")));
  const auto namesake = exchange(get_origin("/", "Via: 1.1 bloomwall (another)\r\n"));
  EXPECT_TRUE(namesake.asked.find("bloomwall (another)") != std::string::npos);
}

TEST_F(Descriptors, WhenTheyRunOutThoseWhoAreConnectedAreServedOn) {
  auto [client, server, asked] = exchange();
  answer(server, client, "one");
  auto waiting_one = ScriptedPeer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit saved{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &saved), 0);
  // This process is the proxy's too: no new descriptor from here on.
  const rlimit none{.rlim_cur = static_cast<rlim_t>(waiting_one.fd() + 1), .rlim_max = saved.rlim_max};
  std::vector<int> plugs;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int fd = dup(0); fd >= 0; fd = dup(0)) plugs.push_back(fd);
  const proxy::Endpoint& to = the_proxy().addresses().front();
  ASSERT_EQ(::connect(waiting_one.fd(), to.raw(), to.raw_size()), 0);
  client.send(get_origin("/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 "));
  server.send(ok("two"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("two");
  EXPECT_GE(counter(&Counters::accept_pauses_total), 1U);
  EXPECT_LE(counter(&Counters::accept_pauses_total), 50U) << "it spins instead of pausing";
  for (const int fd : plugs) ::close(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &saved), 0);
  waiting_one.send("GET http://" + origin.authority() + "/3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(server.read_head().starts_with("GET /3 ")) << "its turn came";
}

}  // namespace
}  // namespace bloomwall::test
