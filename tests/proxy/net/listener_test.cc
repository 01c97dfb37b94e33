// Listeners that do not begin with a request: PROXY headers from load balancers, TLS, and one behind the other.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/proxy/net/proxy_harness.h"
#include "tests/proxy/net/tls_peer.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;
using proxy::TlsContext;
using proxy::TlsSession;

const std::string kHeader = "PROXY TCP4 198.51.100.7 192.0.2.1 4711 80\r\n";

HarnessOptions balanced() {
  HarnessOptions options;
  options.settings.listeners.front().proxy_protocol = {"127.0.0.0/8"};
  options.settings.access.clients = {"198.51.100.0/24", "127.0.0.1"};
  options.settings.headers.x_forwarded_for = conf::Headers::ForwardedFor::append;
  return options;
}

TEST(ProxyProtocol, TheHeaderNamesTheClient) {
  HarnessOptions options = balanced();
  options.settings.log.access.file = "file";
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  {
    auto client = proxy.client();
    client.send_in_pieces(kHeader + get(origin.authority(), "/1"), 9);
    auto server = origin.accept();
    EXPECT_EQ(field_of(server.read_head(), "X-Forwarded-For"), "198.51.100.7");
    server.send(ok("one"));
    EXPECT_EQ(status_of(client.read_head()), 200);
    client.expect("one");
  }
  proxy.wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_NE(proxy.log_text().find("\"inbound_remote_addr\":\"198.51.100.7:4711\""), std::string::npos);
}

TEST(ProxyProtocol, AccessRulesAreAboutWhoIsNamed) {
  ProxyHarness proxy(balanced());
  auto client = proxy.client();
  client.send("PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\n" + get("ok.test"));
  EXPECT_EQ(status_of(client.read_head()), 403);
}

TEST(ProxyProtocol, WhereNobodyIsNamedItIsTheBalancer) {
  ProxyHarness proxy(balanced());
  ScriptedListener origin;
  auto client = proxy.client();
  client.send("PROXY UNKNOWN\r\n" + get(origin.authority()));
  EXPECT_EQ(field_of(origin.accept().read_head(), "X-Forwarded-For"), "127.0.0.1");
}

TEST(ProxyProtocol, OnlyBalancersMayConnect) {
  HarnessOptions options = balanced();
  options.settings.listeners.front().proxy_protocol = {"192.0.2.0/24"};
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.expect_end();
  EXPECT_EQ(proxy.counter(&Counters::client_connections_refused_total), 1U);
}

TEST(ProxyProtocol, WhatIsNoHeaderEndsTheConnection) {
  ProxyHarness proxy(balanced());
  auto client = proxy.client();
  client.send(get("ok.test"));
  client.read_to_end();
  proxy.wait_for_counter(&Counters::proxy_headers_malformed_total, 1);
  auto half = proxy.client();
  half.send("PROXY TCP4 ");
  half.shut_write();
  half.expect_end();
}

TEST(ProxyProtocol, AHeaderThatDoesNotComeEndsTheConnection) {
  HarnessOptions options = balanced();
  options.settings.timeouts.request_header = std::chrono::milliseconds(100);
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send("PROXY TCP4 ");
  client.expect_end();
}

TEST(ProxyProtocol, SharesAreThoseOfWhoIsNamed) {
  HarnessOptions options = balanced();
  options.settings.limits.connections_per_client = 1;
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto first = proxy.client();
  first.send(kHeader + get(origin.authority()));
  origin.accept().read_head();
  auto second = proxy.client();
  second.send(kHeader + get(origin.authority()));
  EXPECT_EQ(status_of(second.read_head()), 503);
  second.read_to_end();
  auto another = proxy.client();
  another.send("PROXY TCP4 198.51.100.8 192.0.2.1 4711 80\r\n" + get(origin.authority(), "/another"));
  EXPECT_TRUE(origin.accept().read_head().starts_with("GET /another "));
  first.close();
  proxy.wait_for_counter(&Counters::client_connections_active, 1);
  auto again = proxy.client();
  again.send(kHeader + get(origin.authority(), "/again"));
  EXPECT_TRUE(origin.accept().read_head().starts_with("GET /again "));
}

class TlsListener : public ::testing::Test {
 protected:
  TlsListener() : files_(make_certificate(dir_.path(), "proxy", "proxy.test")) {}
  HarnessOptions options() const {
    HarnessOptions options;
    options.settings.listeners.front().tls = {files_.certificate, files_.key};
    return options;
  }
  TlsPeer connect(const ProxyHarness& proxy, const std::string& greeting = {}) const {
    const auto peers = TlsContext::for_peers(files_.certificate);
    if (!peers) throw std::runtime_error(peers.error());
    ScriptedPeer socket = proxy.client();
    if (!greeting.empty()) socket.send(greeting);
    TlsPeer peer(std::move(socket), TlsSession::connect(**peers, "proxy.test"));
    peer.shake_hands();
    return peer;
  }
  TempDir dir_;
  TestCertificate files_;
};

TEST_F(TlsListener, ServesRequestsOneAfterTheOther) {
  ProxyHarness proxy(options());
  ScriptedListener origin;
  auto client = connect(proxy);
  client.send(get(origin.authority(), "/1") + get(origin.authority(), "/2"));
  auto server = origin.accept();
  for (const char* path : {"/1", "/2"}) {
    EXPECT_TRUE(server.read_head().starts_with("GET " + std::string(path) + " "));
    server.send(ok(path));
    EXPECT_EQ(status_of(client.read_head()), 200);
    EXPECT_EQ(client.read_exactly(2), path);
  }
  EXPECT_EQ(proxy.counter(&Counters::tls_handshake_failures_total), 0U);
}

TEST_F(TlsListener, CarriesLargeBodiesBothWays) {
  ProxyHarness proxy(options());
  ScriptedListener origin;
  const std::string body(3'000'000, 'b');
  auto client = connect(proxy);
  std::thread far([&] {
    auto server = origin.accept();
    server.read_head();
    EXPECT_EQ(server.read_exactly(body.size()), body);
    server.send(ok(body));
  });
  client.send(
      request("POST", origin.authority(), "/", "Content-Length: " + std::to_string(body.size()) + "\r\n", body));
  EXPECT_EQ(status_of(client.read_head()), 200);
  EXPECT_EQ(client.read_exactly(body.size()), body);
  far.join();
}

TEST_F(TlsListener, TunnelsEndByHalves) {
  ProxyHarness proxy(options());
  ScriptedListener origin;
  auto client = connect(proxy);
  client.send(connect_to(origin.authority()) + "early");
  auto server = origin.accept();
  EXPECT_EQ(status_of(client.read_head()), 200);
  server.expect("early");
  client.send("last words");
  client.end();
  server.expect("last words");
  server.expect_end();
  server.send("answer");
  server.close();
  EXPECT_EQ(client.read_to_end(), "answer");
  EXPECT_EQ(client.session().state(), TlsSession::State::ended) << "an end that nobody else can fake";
}

TEST_F(TlsListener, PlainHttpAndSilenceAreNoTls) {
  HarnessOptions set = options();
  set.settings.timeouts.request_header = std::chrono::milliseconds(150);
  ProxyHarness proxy(std::move(set));
  auto plain = proxy.client();
  plain.send(get("ok.test"));
  EXPECT_EQ(plain.read_to_end().find("HTTP/"), std::string::npos);
  auto silent = proxy.client();
  silent.expect_end();
  proxy.wait_for_counter(&Counters::tls_handshake_failures_total, 2);
}

// The time for a handshake does not count against the client that waits before it asks.
TEST_F(TlsListener, APatientClientOutlivesTheHandshakesTimer) {
  HarnessOptions set = options();
  set.settings.timeouts.request_header = std::chrono::milliseconds(100);
  ProxyHarness proxy(std::move(set));
  ScriptedListener origin;
  auto patient = connect(proxy);
  auto silent = proxy.client();  // came later, and is closed by that timer
  silent.expect_end();
  patient.send(get(origin.authority(), "/late"));
  EXPECT_TRUE(origin.accept().read_head().starts_with("GET /late "));
}

TEST_F(TlsListener, BehindABalancer) {
  HarnessOptions set = options();
  set.settings.listeners.front().proxy_protocol = {"127.0.0.1"};
  set.settings.access.clients = {"198.51.100.7"};
  ProxyHarness proxy(std::move(set));
  ScriptedListener origin;
  auto client = connect(proxy, kHeader);
  client.send(get(origin.authority(), "/both"));
  auto server = origin.accept();
  EXPECT_TRUE(server.read_head().starts_with("GET /both "));
  server.send(ok("x"));
  EXPECT_EQ(status_of(client.read_head()), 200);
}

TEST_F(TlsListener, AReloadTakesTheNewCertificateAndLeavesTheOldConnections) {
  ProxyHarness proxy(options());
  ScriptedListener origin;
  auto old = connect(proxy);
  old.send(get(origin.authority(), "/1"));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("1"));
  old.read_head();
  old.read_exactly(1);
  files_ = make_certificate(dir_.path(), "proxy", "proxy.test");  // another key under the same names
  EXPECT_THROW(connect(proxy).read_until("x"), std::runtime_error) << "still the old one";
  proxy.reload(proxy.settings());
  auto fresh = connect(proxy);
  fresh.send(get("ok.test:1"));
  EXPECT_EQ(status_of(fresh.read_head()), 502);
  old.send(get(origin.authority(), "/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 "));
}

TEST_F(TlsListener, AReloadRefusesACertificateThatIsNone) {
  ProxyHarness proxy(options());
  dir_.write("proxy.crt", "broken\n");
  try {
    proxy.reload(proxy.settings());
    FAIL() << "taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("listeners[0].tls: " + files_.certificate.string()), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace bloomwall::test
