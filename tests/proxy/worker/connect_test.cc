// CONNECT: the tunnel, what is judged before it and inside it.
// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using conf::Access;
using proxy::http_test::client_hello;
using proxy::http_test::handshake;
using proxy::http_test::records;
using proxy::http_test::server_name;

class Connect : public ProxyTest {
 protected:
  // A client that opens a tunnel to ok.test and says this at once.
  ScriptedPeer early_client(const std::string& text) { return new_client(connect_to(at("ok.test")) + text); }
};

TEST_F(Connect, OctetsPassBothWaysAndEndsPassSeparately) {
  auto client = new_client(connect_to(origin.authority()));
  auto server = origin.accept();
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 200);
  EXPECT_EQ(field_of(head, "Content-Length") + field_of(head, "Transfer-Encoding"), "");
  client.send("question");
  server.expect("question");
  client.shut_write();
  server.expect_end();
  server.send("answer");
  client.expect("answer");
  server.close();
  client.expect_end();
}

TEST_F(Connect, OctetsSentTogetherWithTheHeadAreNotLost) {
  auto client = early_client("early data");
  auto server = origin.accept();
  server.expect("early data");
  EXPECT_EQ(status_of(client.read_head()), 200);
}

TEST_F(Connect, AServerThatSpeaksFirstDoesNotWait) {
  auto [client, server] = tunnel();
  server.send("220 ready\r\n");
  client.expect("220 ready\r\n");
  client.send("E");  // one octet, no TLS: passes at once
  server.expect("E");
}

TEST_F(Connect, MuchDataBothWaysAtOnceIsNeitherLostNorStuck) {
  Tunnel open = tunnel();
  const std::string up(8 << 20, 'u'), down(8 << 20, 'd');
  std::jthread sends_up([&] { open.client.send(up); });
  std::jthread sends_down([&] { open.server.send(down); });
  std::string got_up, got_down;
  std::jthread reads_up([&] { got_up = open.server.read_exactly(up.size()); });
  std::jthread reads_down([&] { got_down = open.client.read_exactly(down.size()); });
  for (std::jthread* thread : {&sends_up, &sends_down, &reads_up, &reads_down}) thread->join();
  EXPECT_TRUE(got_up == up);
  EXPECT_TRUE(got_down == down);
}

TEST_F(Connect, WhatTheOriginSentBeforeItClosedArrives) {
  auto [client, server] = tunnel();
  const std::string blob(300'000, 'b');
  server.send(blob);
  server.close();
  EXPECT_EQ(client.read_exactly(blob.size()), blob);
  client.expect_end();
}

TEST_F(Connect, ABlockedHostIsRefusedBeforeAnyNameIsResolved) {
  given.list = "unresolvable-blocked.example\nblocked.test\n";
  for (const char* authority : {"unresolvable-blocked.example:443", "www.blocked.test:443", "BLOCKED.test.:443"}) {
    EXPECT_EQ(status_of(reply_to(connect_to(authority) + "\x16\x03\x01 and what follows")), 403) << authority;
  }
  EXPECT_EQ(counter(&Counters::dns_queries_total), 0u);
}

TEST_F(Connect, ABlockedServerNameIsCutBeforeAnOctetLeaves) {
  given.list = "blocked.test\n";
  const std::string hello = client_hello(server_name("www.Blocked.test"));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, hello.size()}) {
    auto client = new_client(connect_to(at("ok.test")));
    auto server = origin.accept();
    EXPECT_EQ(status_of(client.read_head()), 200);
    client.send_in_pieces(hello, piece);
    client.expect_end();
    server.expect_end();  // and nothing came before it
  }
}

TEST_F(Connect, ABlockedServerNameSentWithTheHeadIsCutToo) {
  given.list = "blocked.test\n";
  auto client = early_client(client_hello(server_name("blocked.test")));
  origin.accept().expect_end();
  client.read_head();
  client.expect_end();
}

TEST_F(Connect, AnInnocentHelloPassesUnchangedInAnyNumberOfSegments) {
  given.list = "blocked.test\n";
  const std::string hello = client_hello(server_name("ok.test"));
  const std::string answer = records(handshake("\x03\x03" + std::string(32, 'r') + "rest", 2));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, hello.size()}) {
    auto [client, server] = tunnel("ok.test");
    client.send_in_pieces(hello, piece);
    server.expect(hello);
    server.send(answer);
    client.expect(answer);
    client.send_in_pieces("and more", piece);
    server.expect("and more");
  }
}

TEST_F(Connect, AHelloWithoutANamePassesAndAMalformedOneDoesNot) {
  given.list = "blocked.test\n";
  {
    auto client = early_client(client_hello(""));
    auto server = origin.accept();
    server.expect(client_hello(""));
  }
  {
    auto client = early_client("\x16garbage that is no record");
    origin.accept().expect_end();
    client.read_head();
    client.expect_end();
  }
  {
    auto client = early_client(client_hello(server_name("ok.test")).substr(0, 40));
    client.shut_write();
    origin.accept().expect_end();
  }
  EXPECT_EQ(counter(&Counters::sni_absent_total), 1u);
  EXPECT_EQ(counter(&Counters::sni_malformed_total), 2u);
}

TEST_F(Connect, AServerNameOtherThanTheHostIsWhatTheSettingsSay) {
  given.settings.access.sni_mismatch = Access::SniMismatch::deny;
  {
    auto client = early_client(client_hello(server_name("mixed.test")));
    origin.accept().expect_end();
  }
  given.settings.access.sni_mismatch = Access::SniMismatch::allow;
  reload();
  auto client = early_client(client_hello(server_name("mixed.test")));
  origin.accept().expect(client_hello(server_name("mixed.test")));
  EXPECT_EQ(counter(&Counters::sni_mismatch_total), 2u);
}

TEST_F(Connect, PortsAndDestinationsAreChecked) {
  given.settings.access.connect_ports = {443};
  given.settings.access.deny_destinations = {"127.0.0.66"};
  EXPECT_EQ(status_of(reply_to(connect_to("127.0.0.1:25"))), 403);
  const std::string head = reply_to(connect_to("127.0.0.66:443"));
  EXPECT_EQ(status_of(head), 403);
  EXPECT_NE(field_of(head, "Proxy-Status").find("destination_ip_prohibited"), std::string::npos) << head;
}

TEST_F(Connect, ADeniedAddressIsDeniedUnderAnyName) {
  ScriptedListener denied("127.0.0.66");
  given.settings.access.deny_destinations = {"127.0.0.66"};
  given.settings.dns.hosts["private.test"] = "127.0.0.66";
  given.settings.dns.hosts["mapped.test"] = "::ffff:127.0.0.66";
  for (const std::string name :
       {"127.0.0.66", "private.test", "mapped.test", "[::ffff:127.0.0.66]", "[::ffff:7f00:42]"}) {
    EXPECT_EQ(status_of(reply_to(get(name + ":" + std::to_string(denied.port())))), 403) << name;
  }
  EXPECT_TRUE(denied.nobody_comes_for(20ms));
}

TEST_F(Connect, AnIdleTunnelIsClosedInItsTime) {
  given.settings.timeouts.tunnel_idle = 200ms;
  auto [client, server] = tunnel();
  client.expect_end();
  server.expect_end();
  EXPECT_EQ(counter(&Counters::tunnel_idle_timeouts_total), 1U);
}

// The origin of these tests plays the parent.
TEST_F(Connect, TheParentProxyCarriesTunnelsAndRequests) {
  given.settings.upstream.parent = origin.authority();
  given.settings.access.deny_destinations = {"loopback"};  // the parent is exempt
  auto [client, up, asked] = exchange(connect_to("far.example:443") + "early");
  EXPECT_TRUE(asked.starts_with("CONNECT far.example:443 HTTP/1.1\r\n")) << asked;
  up.send("HTTP/1.1 200 OK\r\n\r\nfirst");
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("first");
  up.expect("early");

  auto plain = exchange(get("far.example", "/x"));
  EXPECT_TRUE(plain.asked.starts_with("GET http://far.example/x HTTP/1.1\r\n"));
  answer(plain.server, plain.client, "via parent");
}

TEST_F(Connect, AParentThatRefusesIsHeard) {
  given.settings.upstream.parent = origin.authority();
  auto [client, up, asked] = exchange(connect_to("far.example:443"));
  up.send(
      "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: "
      "2\r\n\r\nno");
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 407);
  EXPECT_EQ(field_of(head, "Proxy-Authenticate"), "Basic realm=\"p\"");
  client.expect("no");
}

}  // namespace
}  // namespace bloomwall::test
