// Limits, loops and exhausted descriptors.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <string>
#include <vector>

#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using Descriptors = ProxyTest;
using Limits = ProxyTest;
using Loops = ProxyTest;

TEST_F(Limits, ClientsBeyondTheirNumberAreTurnedAwayWhereAllAreBusy) {
  given.settings.limits.client_connections = 3;
  std::vector<Exchange> held;
  for (int i = 0; i < 3; ++i) held.push_back(exchange());
  auto refused = new_client();
  EXPECT_EQ(status_of(refused.read_head()), 503);
  refused.read_to_end();
  held.back().client.reset();
  wait_for_counter(&Counters::client_connections_active, 2);
  expect_alive();
}

TEST_F(Limits, WhoeverHasIdledLongestMakesRoom) {
  given.settings.limits.client_connections = 3;
  auto [busy, server, asked] = exchange();
  auto first = new_client();
  wait_for_counter(&Counters::client_connections_idle, 1);
  auto second = new_client();
  wait_for_counter(&Counters::client_connections_idle, 2);
  auto third = new_client(get("ok.test:2"));
  EXPECT_EQ(status_of(third.read_head()), 502) << "served";
  first.expect_end();
  EXPECT_EQ(counter(&Counters::client_connections_shed_total), 1U);
  second.send(get("ok.test:2"));
  EXPECT_EQ(status_of(second.read_head()), 502);
  answer(server, busy, "busy is not idle");
}

TEST_F(Limits, TheOtherWorkersIdleClientsMakeRoomToo) {
  given.settings.workers = 4;
  given.settings.limits.client_connections = 2;
  std::vector<ScriptedPeer> held;
  for (int i = 0; i < 2; ++i) held.push_back(new_client());
  for (int i = 0; i < 40; ++i) {
    wait_for_counter(&Counters::client_connections_idle, 2);
    held.push_back(new_client(get("ok.test:2")));
    EXPECT_EQ(status_of(read_answer(held.back()).head), 502) << i;
  }
  EXPECT_EQ(counter(&Counters::client_connections_refused_total), 0U);
}

TEST_F(Limits, OneAddressHasItsShare) {
  given.settings.limits.connections_per_client = 2;
  auto first = exchange(), second = exchange();
  auto third = new_client();
  EXPECT_EQ(status_of(third.read_head()), 503);
  first.client.reset();
  wait_for_counter(&Counters::client_connections_active, 1);
  expect_alive();
}

TEST_F(Limits, OneAddressTakesNoMoreThanAPartByDefault) {
  const conf::Limits usual;
  EXPECT_GT(usual.connections_per_client, 0U);
  EXPECT_LE(usual.connections_per_client, usual.client_connections / 2);
}

TEST_F(Limits, AnAddressThatHasItsShareGivesUpAnIdleOne) {
  given.settings.limits.connections_per_client = 2;
  auto first = new_client();
  wait_for_counter(&Counters::client_connections_idle, 1);
  auto second = exchange();
  expect_alive();
  first.expect_end();
}

TEST_F(Limits, StrangersAreRefused) {
  given.settings.access.clients = {"10.0.0.0/8"};
  auto client = new_client(get("ok.test"));
  EXPECT_EQ(status_of(client.read_head()), 403);
  client.read_to_end();
}

// By default, as a literal and behind a name. Where one were dialled, the answer would be another.
TEST_F(Limits, NoRequestGoesWhereNoPublicServerIs) {
  const std::vector<std::string> addresses{"127.0.0.1",
                                           "10.0.0.1",
                                           "169.254.169.254",
                                           "192.0.0.170",
                                           "192.0.2.1",
                                           "198.18.0.1",
                                           "240.0.0.1",
                                           "100::1",
                                           "2001:db8::1",
                                           "::ffff:0:127.0.0.1",
                                           "64:ff9b::10.0.0.1",
                                           "64:ff9b:1:a00:0:100:808:808",
                                           "3fff::1",
                                           "2001:2::1",
                                           "5f00::1",
                                           "2002:7f00:1::",
                                           "2600::5efe:10.0.0.1",
                                           "192.88.99.1"};
  given.settings.access.deny_destinations = conf::Access{}.deny_destinations;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    given.settings.dns.hosts["n" + std::to_string(i) + ".test"] = addresses[i];
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const bool v6 = addresses[i].find(':') != std::string::npos;
    EXPECT_EQ(status_of(reply_to(get(v6 ? "[" + addresses[i] + "]" : addresses[i]))), 403) << addresses[i];
    EXPECT_EQ(status_of(reply_to(get("n" + std::to_string(i) + ".test"))), 403) << addresses[i];
  }
  EXPECT_EQ(errors(proxy::ErrorKind::destination_denied), 2 * addresses.size());
}

TEST_F(Limits, PlainHttpToAPortOfAnotherProtocolGoesNowhere) {
  for (const std::string port : {"25", "22", "6667", "10080"}) {
    const std::string head = reply_to(get("127.0.0.1:" + port));
    EXPECT_EQ(status_of(head), 403) << port;
    EXPECT_NE(field_of(head, "Proxy-Status").find("access.deny_ports"), std::string::npos) << head;
  }
  given.settings.access.deny_ports = {origin.port()};
  reload();
  EXPECT_EQ(status_of(reply_to(get_origin())), 403);
  EXPECT_TRUE(origin.nobody_comes_for(std::chrono::milliseconds(50)));
}

TEST_F(Limits, StrangersTakeNobodysRoom) {
  given.settings.access.clients = {"127.0.0.1"};
  given.settings.limits.client_connections = 4;
  const std::uint16_t port = the_proxy().addresses().front().port();
  std::vector<Exchange> held;
  for (int i = 0; i < 3; ++i) held.push_back(exchange());
  std::vector<ScriptedPeer> strangers;
  for (int i = 0; i < 50; ++i) strangers.push_back(ScriptedPeer::connect_from("127.0.0.2", port));
  expect_alive();
  EXPECT_EQ(status_of(strangers.back().read_to_end()), 403);
  EXPECT_EQ(errors(proxy::ErrorKind::client_denied), 50U);
  EXPECT_EQ(counter(&Counters::client_connections_total), 4U);
}

// The rules of the moment: who was let in before a reload is asked about again with its next request.
TEST_F(Limits, AReloadMakesAStranger) {
  auto client = new_client(get("ok.test:2"));
  EXPECT_EQ(status_of(read_answer(client).head), 502);
  given.settings.access.clients = {"10.0.0.0/8"};
  reload();
  client.send(get("ok.test:2"));
  EXPECT_EQ(status_of(client.read_head()), 403);
  EXPECT_EQ(status_of(reply_to("")), 403);
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

// A browser that is set up by hand sends them through the proxy.
TEST_F(Loops, AnOwnAddressShowsThePagesOfTheProxy) {
  const std::string own = "127.0.0.1:" + std::to_string(the_proxy().addresses().front().port());
  for (const char* const path : {"/", "/setup", "/proxy.pac", "/?login"}) {
    EXPECT_EQ(status_of(reply_to(get(own, path))), 200) << path;
  }
  expect_loop(reply_to(get(own, "/metrics")));
  EXPECT_NE(status_of(reply_to(get("127.0.0.1:1", "/"))), 200) << "another port";
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
  rest(server);
  client.send(get_origin("/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 "));
  server.send(ok("two"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("two");
  EXPECT_GE(counter(&Counters::accept_pauses_total), 1U);
  EXPECT_LE(counter(&Counters::accept_pauses_total), 50U) << "it spins instead of pausing";
  for (const int fd : plugs) ::close(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &saved), 0);
  rest(server);
  waiting_one.send("GET http://" + origin.authority() + "/3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(server.read_head().starts_with("GET /3 ")) << "its turn came";
}

}  // namespace
}  // namespace bloomwall::test
