// CONNECT: the tunnel, what is judged before it and inside it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;

HarnessOptions with_list(const std::string& list) {
  HarnessOptions options;
  options.list = list;
  return options;
}

std::string at(const ScriptedListener& origin, const std::string& name) {
  return name + ":" + std::to_string(origin.port());
}

TEST(Connect, OctetsPassBothWaysAndEndsPassSeparately) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(connect_to(origin.authority()));
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

TEST(Connect, OctetsSentTogetherWithTheHeadAreNotLost) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(connect_to(origin.authority()) + "early data");
  auto server = origin.accept();
  server.expect("early data");
  EXPECT_EQ(status_of(client.read_head()), 200);
}

TEST(Connect, AServerThatSpeaksFirstDoesNotWait) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(connect_to(origin.authority()));
  auto server = origin.accept();
  server.send("220 ready\r\n");
  client.read_head();
  client.expect("220 ready\r\n");
  client.send("E");  // one octet, no TLS: passes at once
  server.expect("E");
}

TEST(Connect, MuchDataBothWaysAtOnceIsNeitherLostNorStuck) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(connect_to(origin.authority()));
  auto server = origin.accept();
  client.read_head();
  const std::string up(8 << 20, 'u'), down(8 << 20, 'd');
  std::jthread sends_up([&] { client.send(up); });
  std::jthread sends_down([&] { server.send(down); });
  std::string got_up, got_down;
  std::jthread reads_up([&] { got_up = server.read_exactly(up.size()); });
  std::jthread reads_down([&] { got_down = client.read_exactly(down.size()); });
  for (std::jthread* thread : {&sends_up, &sends_down, &reads_up, &reads_down}) thread->join();
  EXPECT_TRUE(got_up == up);
  EXPECT_TRUE(got_down == down);
}

TEST(Connect, WhatTheOriginSentBeforeItClosedArrives) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(connect_to(origin.authority()));
  auto server = origin.accept();
  client.read_head();
  const std::string blob(300'000, 'b');
  server.send(blob);
  server.close();
  EXPECT_EQ(client.read_exactly(blob.size()), blob);
  client.expect_end();
}

TEST(Connect, ABlockedHostIsRefusedBeforeAnyNameIsResolved) {
  ProxyHarness proxy(with_list("unresolvable-blocked.example\nblocked.test\n"));
  for (const char* authority : {"unresolvable-blocked.example:443", "www.blocked.test:443", "BLOCKED.test.:443"}) {
    auto client = proxy.client();
    client.send(connect_to(authority) + "\x16\x03\x01 and what follows");
    EXPECT_EQ(status_of(client.read_head()), 403) << authority;
  }
  EXPECT_EQ(proxy.counter(&Counters::dns_queries_total), 0u);
}

TEST(Connect, ABlockedServerNameIsCutBeforeAnOctetLeaves) {
  const std::string hello = client_hello("www.Blocked.test");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, hello.size()}) {
    ProxyHarness proxy(with_list("blocked.test\n"));
    ScriptedListener origin;
    auto client = proxy.client();
    client.send(connect_to(at(origin, "ok.test")));
    auto server = origin.accept();
    EXPECT_EQ(status_of(client.read_head()), 200);
    client.send_in_pieces(hello, piece);
    client.expect_end();
    server.expect_end();  // and nothing came before it
  }
}

TEST(Connect, ABlockedServerNameSentWithTheHeadIsCutToo) {
  ProxyHarness proxy(with_list("blocked.test\n"));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(connect_to(at(origin, "ok.test")) + client_hello("blocked.test"));
  origin.accept().expect_end();
  client.read_head();
  client.expect_end();
}

TEST(Connect, AnInnocentHelloPassesUnchangedInAnyNumberOfSegments) {
  const std::string hello = client_hello("ok.test");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, hello.size()}) {
    ProxyHarness proxy(with_list("blocked.test\n"));
    ScriptedListener origin;
    auto client = proxy.client();
    client.send(connect_to(at(origin, "ok.test")));
    auto server = origin.accept();
    client.read_head();
    client.send_in_pieces(hello + "and more", piece);
    server.expect(hello + "and more");
  }
}

TEST(Connect, AHelloWithoutANamePassesAndAMalformedOneDoesNot) {
  ProxyHarness proxy(with_list("blocked.test\n"));
  ScriptedListener origin;
  {
    auto client = proxy.client();
    client.send(connect_to(at(origin, "ok.test")) + client_hello(""));
    auto server = origin.accept();
    server.expect(client_hello(""));
  }
  {
    auto client = proxy.client();
    client.send(connect_to(at(origin, "ok.test")) + "\x16garbage that is no record");
    origin.accept().expect_end();
    client.read_head();
    client.expect_end();
  }
  {
    auto client = proxy.client();
    client.send(connect_to(at(origin, "ok.test")) + client_hello("ok.test").substr(0, 40));
    client.shut_write();
    origin.accept().expect_end();
  }
  EXPECT_EQ(proxy.counter(&Counters::sni_absent_total), 1u);
  EXPECT_EQ(proxy.counter(&Counters::sni_malformed_total), 1u);
}

TEST(Connect, AServerNameOtherThanTheHostIsWhatTheSettingsSay) {
  HarnessOptions options;
  options.settings.access.sni_mismatch = conf::Access::SniMismatch::deny;
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  {
    auto client = proxy.client();
    client.send(connect_to(at(origin, "ok.test")) + client_hello("mixed.test"));
    origin.accept().expect_end();
  }
  proxy.settings().access.sni_mismatch = conf::Access::SniMismatch::allow;
  proxy.reload(proxy.settings());
  auto client = proxy.client();
  client.send(connect_to(at(origin, "ok.test")) + client_hello("mixed.test"));
  origin.accept().expect(client_hello("mixed.test"));
  EXPECT_EQ(proxy.counter(&Counters::sni_mismatch_total), 2u);
}

TEST(Connect, PortsAndDestinationsAreChecked) {
  HarnessOptions options;
  options.settings.access.connect_ports = {443};
  options.settings.access.deny_destinations = {"127.0.0.66"};
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send(connect_to("127.0.0.1:25"));
  EXPECT_EQ(status_of(client.read_head()), 403);
  auto other = proxy.client();
  other.send(connect_to("127.0.0.66:443"));
  const std::string head = other.read_head();
  EXPECT_EQ(status_of(head), 403);
  EXPECT_NE(field_of(head, "Proxy-Status").find("destination_ip_prohibited"), std::string::npos) << head;
}

TEST(Connect, ADeniedAddressIsDeniedUnderAnyName) {
  HarnessOptions options;
  options.settings.access.deny_destinations = {"127.0.0.66"};
  options.settings.dns.hosts["private.test"] = "127.0.0.66";
  options.settings.dns.hosts["mapped.test"] = "::ffff:127.0.0.66";
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin("127.0.0.66");
  for (const char* name : {"127.0.0.66", "private.test", "mapped.test", "[::ffff:127.0.0.66]", "[::ffff:7f00:42]"}) {
    auto client = proxy.client();
    client.send(get(at(origin, name)));
    EXPECT_EQ(status_of(client.read_head()), 403) << name;
  }
  EXPECT_TRUE(origin.nobody_comes_for(std::chrono::milliseconds(20)));
}

TEST(Connect, AnIdleTunnelIsClosedInItsTime) {
  HarnessOptions options;
  options.settings.timeouts.tunnel_idle = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(connect_to(origin.authority()));
  auto server = origin.accept();
  client.read_head();
  client.expect_end();
  server.expect_end();
  EXPECT_EQ(proxy.counter(&Counters::tunnel_idle_timeouts_total), 1U);
}

TEST(Connect, TheParentProxyCarriesTunnelsAndRequests) {
  ScriptedListener parent;
  HarnessOptions options;
  options.settings.upstream.parent = parent.authority();
  options.settings.access.deny_destinations = {"loopback"};  // the parent is exempt
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send(connect_to("far.example:443") + "early");
  auto up = parent.accept();
  const std::string head = up.read_head();
  EXPECT_TRUE(head.starts_with("CONNECT far.example:443 HTTP/1.1\r\n")) << head;
  up.send("HTTP/1.1 200 OK\r\n\r\nfirst");
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("first");
  up.expect("early");

  auto other = proxy.client();
  other.send(get("far.example", "/x"));
  auto plain = parent.accept();
  EXPECT_TRUE(plain.read_head().starts_with("GET http://far.example/x HTTP/1.1\r\n"));
  plain.send(ok("via parent"));
  other.read_head();
  other.expect("via parent");
}

TEST(Connect, AParentThatRefusesIsHeard) {
  ScriptedListener parent;
  HarnessOptions options;
  options.settings.upstream.parent = parent.authority();
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send(connect_to("far.example:443"));
  auto up = parent.accept();
  up.read_head();
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
