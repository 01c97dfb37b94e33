// What a tunnel is let in by, and what a reload makes of it: hellos are judged by the policy of their moment, open tunnels
// end where their host or server name is blocked by the next one, and none keeps the old policy.
// SPDX-License-Identifier: Apache-2.0
#include "tests/proxy/http/hello_maker.h"
#include "tests/proxy/net/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using proxy::testing::client_hello;
using proxy::testing::extension;
using proxy::testing::server_name;

class TunnelReview : public ProxyTest {
 protected:
  void SetUp() override {
    given.list = "listed.example\n";
    given.logged = true;
  }
  void block(const std::string& entry) {
    given.list += entry + "\n";
    reload();
  }
  static void say_hello(Tunnel& open, const std::string& name) {
    const std::string hello = client_hello(server_name(name));
    open.client.send(hello);
    open.server.expect(hello);
  }
};

TEST_F(TunnelReview, AHelloIsJudgedByThePolicyOfItsMoment) {
  auto open = tunnel("ok.test");
  block("late.example");
  open.client.send(client_hello(server_name("late.example")));
  open.client.expect_end();
  open.server.expect_end();
  EXPECT_EQ(counter(&Counters::sni_blocked_total), 1U);
}

TEST_F(TunnelReview, TunnelsThatAReloadBlocksEnd) {
  auto silent = tunnel("ok.test"), named = tunnel("ok.test"), opaque = tunnel("ok.test"), other = tunnel("mixed.test");
  say_hello(named, "cdn.example");
  opaque.client.send("hello");
  opaque.server.expect("hello");
  block("cdn.example");
  named.client.expect_end();
  named.server.expect_end();
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 1U);
  block("ok.test");
  for (Tunnel* open : {&silent, &opaque}) {
    open->client.expect_end();
    open->server.expect_end();
  }
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 3U);
  other.server.send("still here");
  other.client.expect("still here");
  const std::string log = log_text();
  EXPECT_NE(log.find("a reload has blocked the server name"), std::string::npos) << log;
  EXPECT_NE(log.find("a reload has blocked the host"), std::string::npos) << log;
  EXPECT_NE(log.find("\"status\":403"), std::string::npos) << log;
}

TEST_F(TunnelReview, AWebSocketEndsWithItsUrl) {
  const std::string upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  auto open = exchange(get(at("ok.test"), "/socket", upgrade));
  open.server.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(status_of(open.client.read_head()), 101);
  block("http://ok.test/other");
  open.server.send("still here");
  open.client.expect("still here");
  block("http://ok.test/socket");
  open.client.expect_end();
}

// More of them than are reviewed in one turn of the loop.
TEST_F(TunnelReview, ManyAreReviewedToTheLast) {
  std::vector<Tunnel> open;
  for (int i = 0; i < 300; ++i) open.push_back(tunnel(i % 100 == 99 ? "mixed.test" : "ok.test"));
  block("ok.test");
  wait_for_counter(&Counters::tunnels_active, 3);  // counted until they are destroyed, after they were cut
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 297U);
}

TEST_F(TunnelReview, WhatIsBlockedOrMalformedIsCountedAndLoggedAsSuch) {
  for (const std::string& said :
       {client_hello(server_name("listed.example")), std::string("\x15\x03\x01\x00\x02\x01\x5a", 7)}) {
    auto open = tunnel("ok.test");
    open.client.send(said);
    open.client.expect_end();
    open.server.expect_end();
  }
  const auto sum = counters();
  const auto& connects = sum->requests[static_cast<std::size_t>(proxy::MethodClass::connect)];
  std::uint64_t blocked = 0;
  for (const auto& reason : connects[static_cast<std::size_t>(filter::Decision::blocked)]) blocked += reason.get();
  EXPECT_EQ(blocked, 2U);
  EXPECT_EQ(counter(&Counters::sni_blocked_total), 1U);
  EXPECT_EQ(counter(&Counters::sni_malformed_total), 1U);
  const std::string log = log_text();
  EXPECT_NE(log.find("\"sni\":\"listed.example\",\"status\":403"), std::string::npos) << log;
  EXPECT_NE(log.find("\"status\":400"), std::string::npos) << log;
}

TEST_F(TunnelReview, AClientHelloWithoutANameIsWhatTheSettingsSay) {
  given.settings.access.no_sni = conf::Access::NoSni::deny;
  auto open = tunnel("ok.test");
  open.client.send(client_hello(""));
  open.client.expect_end();
  open.server.expect_end();
  auto named = tunnel("ok.test");
  say_hello(named, "ok.test");
}

TEST_F(TunnelReview, ASecondHelloMustNameTheSameHost) {
  const std::string cipher_spec("\x14\x03\x03\x00\x01\x01", 6), data(
                                                                    "\x17\x03\x03\x00\x04"
                                                                    "data",
                                                                    9);
  const std::string early = client_hello(server_name("ok.test") + extension(42, ""));
  {
    auto open = tunnel("ok.test");
    say_hello(open, "ok.test");
    open.client.send(cipher_spec);
    open.server.expect(cipher_spec);
    open.client.send_in_pieces(client_hello(server_name("mixed.test")), 3);
    open.client.expect_end();
    open.server.expect_end();
  }
  {
    auto open = tunnel("ok.test");
    say_hello(open, "ok.test");
    say_hello(open, "ok.test");
    open.client.send(cipher_spec + data);
    open.server.expect(cipher_spec + data);
  }
  {
    auto open = tunnel("ok.test");
    open.client.send(early + data);
    open.server.expect(early + data);
    open.client.send(client_hello(server_name("mixed.test")));
    open.client.expect_end();
    open.server.expect_end();
  }
  EXPECT_EQ(counter(&Counters::sni_malformed_total), 2U);
}

}  // namespace
}  // namespace bloomwall::test
