// Listeners that do not begin with a request: PROXY headers from load balancers, TLS, and one behind the other.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <thread>

#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/proxy/worker/tls_peer.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using proxy::TlsContext;
using proxy::TlsSession;

const std::string kHeader = "PROXY TCP4 198.51.100.7 192.0.2.1 4711 80\r\n";

class ProxyProtocol : public ProxyTest {
 protected:
  ProxyProtocol() {
    given.settings.listeners.front().proxy_protocol = {"127.0.0.0/8"};
    given.settings.access.clients = {"198.51.100.0/24", "127.0.0.1"};
    given.settings.headers.x_forwarded_for = conf::Headers::ForwardedFor::append;
  }
};

TEST_F(ProxyProtocol, TheHeaderNamesTheClient) {
  given.logged = true;
  {
    auto client = new_client();
    client.send_in_pieces(kHeader + get_origin("/1"), 9);
    auto server = origin.accept();
    EXPECT_EQ(field_of(server.read_head(), "X-Forwarded-For"), "198.51.100.7");
    answer(server, client, "one");
  }
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_NE(log_text().find("\"inbound_remote_addr\":\"198.51.100.7:4711\""), std::string::npos);
}

TEST_F(ProxyProtocol, AccessRulesAreAboutWhoIsNamed) {
  EXPECT_EQ(status_of(reply_to("PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\n" + get("ok.test"))), 403);
}

TEST_F(ProxyProtocol, WhereNobodyIsNamedItIsTheBalancer) {
  EXPECT_EQ(field_of(exchange("PROXY UNKNOWN\r\n" + get_origin()).asked, "X-Forwarded-For"), "127.0.0.1");
}

TEST_F(ProxyProtocol, OnlyBalancersMayConnect) {
  given.settings.listeners.front().proxy_protocol = {"192.0.2.0/24"};
  new_client().expect_end();
  EXPECT_EQ(counter(&Counters::client_connections_refused_total), 1U);
}

TEST_F(ProxyProtocol, WhatIsNoHeaderEndsTheConnection) {
  new_client(get("ok.test")).read_to_end();
  wait_for_counter(&Counters::proxy_headers_malformed_total, 1);
  auto half = new_client("PROXY TCP4 ");
  half.shut_write();
  half.expect_end();
}

TEST_F(ProxyProtocol, AHeaderThatDoesNotComeEndsTheConnection) {
  given.settings.timeouts.request_header = 100ms;
  new_client("PROXY TCP4 ").expect_end();
}

TEST_F(ProxyProtocol, SharesAreThoseOfWhoIsNamed) {
  given.settings.limits.connections_per_client = 1;
  auto first = exchange(kHeader + get_origin());
  auto second = new_client(kHeader + get_origin());
  EXPECT_EQ(status_of(second.read_head()), 503);
  second.read_to_end();
  auto another = exchange("PROXY TCP4 198.51.100.8 192.0.2.1 4711 80\r\n" + get_origin("/another"));
  EXPECT_TRUE(another.asked.starts_with("GET /another "));
  first.client.reset();
  wait_for_counter(&Counters::client_connections_active, 1);
  EXPECT_TRUE(exchange(kHeader + get_origin("/again")).asked.starts_with("GET /again "));
}

// Whoever has not spoken yet may still ask when the end has come.
TEST_F(ProxyProtocol, TheEndWaitsForWhoWasNamed) {
  auto named = new_client(kHeader);
  auto half = new_client(kHeader.substr(0, 9));
  wait_for_counter(&Counters::client_connections_idle, 2);
  the_proxy().drain(20s);
  half.send(kHeader.substr(9));
  for (ScriptedPeer* const client : {&named, &half}) {
    client->send(get("ok.test:2"));
    const Answer last = read_answer(*client);
    EXPECT_EQ(status_of(last.head), 502);
    EXPECT_EQ(field_of(last.head, "Connection"), "close");
    client->expect_end();
  }
  wait_until_ended();
}

class TlsListener : public ProxyTest {
 protected:
  TlsListener() { given.settings.listeners.front().tls = {files_.certificate, files_.key}; }
  TlsPeer new_tls_client(const std::string& text = "", const std::string& greeting = "") {
    const auto peers = TlsContext::for_peers(files_.certificate);
    if (!peers) throw std::runtime_error(peers.error());
    TlsPeer peer(new_client(greeting), TlsSession::connect(**peers, "proxy.test"));
    peer.shake_hands();
    peer.send(text);
    return peer;
  }
  TestCertificate files_ = make_certificate(dir.path(), "proxy", "proxy.test");
};

TEST_F(TlsListener, ServesRequestsOneAfterTheOther) {
  auto client = new_tls_client(get_origin("/1") + get_origin("/2"));
  for (const std::string path : {"/1", "/2"}) {
    auto server = origin.accept();
    EXPECT_TRUE(server.read_head().starts_with("GET " + path + " "));
    answer(server, client, path);
  }
  EXPECT_EQ(counter(&Counters::tls_handshake_failures_total), 0U);
}

TEST_F(TlsListener, CarriesLargeBodiesBothWays) {
  const std::string body(3'000'000, 'b');
  auto client = new_tls_client();
  std::thread far([&] {
    auto server = origin.accept();
    server.read_head();
    EXPECT_EQ(server.read_exactly(body.size()), body);
    server.send(ok(body));
  });
  client.send(post_origin(length_field(body.size()), body));
  EXPECT_EQ(status_of(client.read_head()), 200);
  EXPECT_EQ(client.read_exactly(body.size()), body);
  far.join();
}

TEST_F(TlsListener, TunnelsEndByHalves) {
  auto client = new_tls_client(connect_to(origin.authority()) + "early");
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

TEST_F(TlsListener, ALeavingClientIsLetGoWhileItsAnswerIsAwaited) {
  auto client = new_tls_client(get_origin());
  auto server = origin.accept();
  server.read_head();
  client.socket().reset();
  server.expect_end();
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(errors(proxy::ErrorKind::client_gone), 1U);
}

// Without close_notify, as anybody could have ended it.
TEST_F(TlsListener, AnUploadThatIsCutIsCompletedNowhereAndLogged) {
  given.logged = true;
  auto client = new_tls_client(post_origin(length_field(10), "abc"));
  auto server = origin.accept();
  server.read_head();
  server.expect("abc");
  client.socket().close();
  server.expect_end();
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_NE(log_text().find("\"error\":\"client_gone\""), std::string::npos) << log_text();
}

// Whoever has shaken hands and has not spoken yet may still ask when the end has come.
TEST_F(TlsListener, TheEndWaitsForWhoHasShakenHands) {
  auto fresh = new_tls_client();
  auto kept = new_tls_client(get("ok.test:2"));
  EXPECT_EQ(status_of(read_answer(kept).head), 502);
  wait_for_counter(&Counters::client_connections_idle, 2);
  the_proxy().drain(20s);
  for (TlsPeer* const client : {&fresh, &kept}) {
    client->send(get("ok.test:2"));
    const Answer last = read_answer(*client);
    EXPECT_EQ(status_of(last.head), 502);
    EXPECT_EQ(field_of(last.head, "Connection"), "close");
    client->socket().close();
  }
  wait_until_ended();
}

TEST_F(TlsListener, TheLastAnswerEndsWithAWord) {
  for (const std::string& last :
       {"GET http://" + origin.authority() + "/ HTTP/1.0\r\n\r\n", get_origin("/", "Connection: close\r\n")}) {
    auto client = new_tls_client(last);
    auto server = origin.accept();
    server.read_head();
    server.send("HTTP/1.1 200 OK\r\n\r\nto the end");
    server.close();
    EXPECT_EQ(status_of(client.read_head()), 200);
    EXPECT_NE(client.read_to_end().find("to the end"), std::string::npos);
    EXPECT_EQ(client.session().state(), TlsSession::State::ended) << "else it may be cut: " << last;
  }
}

TEST_F(TlsListener, StrangersGetNoHandshake) {
  given.settings.access.clients = {"10.0.0.0/8"};
  new_client().expect_end();
  EXPECT_EQ(errors(proxy::ErrorKind::client_denied), 1U);
  EXPECT_EQ(counter(&Counters::client_connections_total), 0U);
}

TEST_F(TlsListener, StrangersBehindABalancerGetNoHandshake) {
  given.settings.listeners.front().proxy_protocol = {"127.0.0.1"};
  given.settings.access.clients = {"127.0.0.1"};
  new_client(kHeader).expect_end();
  EXPECT_EQ(errors(proxy::ErrorKind::client_denied), 1U);
}

TEST_F(TlsListener, PlainHttpAndSilenceAreNoTls) {
  given.settings.timeouts.request_header = 150ms;
  EXPECT_EQ(new_client(get("ok.test")).read_to_end().find("HTTP/"), std::string::npos);
  new_client().expect_end();
  wait_for_counter(&Counters::tls_handshake_failures_total, 2);
}

// The time for a handshake does not count against the client that waits before it asks.
TEST_F(TlsListener, APatientClientOutlivesTheHandshakesTimer) {
  given.settings.timeouts.request_header = 1s;  // long enough for an honest handshake on a busy machine
  auto patient = new_tls_client();
  new_client().expect_end();  // came later, and is closed by that timer
  patient.send(get_origin("/late"));
  EXPECT_TRUE(origin.accept().read_head().starts_with("GET /late "));
}

TEST_F(TlsListener, BehindABalancer) {
  given.settings.listeners.front().proxy_protocol = {"127.0.0.1"};
  given.settings.access.clients = {"198.51.100.7"};
  auto client = new_tls_client(get_origin("/both"), kHeader);
  auto server = origin.accept();
  EXPECT_TRUE(server.read_head().starts_with("GET /both "));
  answer(server, client, "x");
}

TEST_F(TlsListener, AReloadTakesTheNewCertificateAndLeavesTheOldConnections) {
  auto old = new_tls_client(get_origin("/1"));
  auto server = origin.accept();
  server.read_head();
  answer(server, old, "1");
  files_ = make_certificate(dir.path(), "proxy", "proxy.test");  // another key under the same names
  EXPECT_THROW(new_tls_client(), std::runtime_error) << "still the old one";
  reload();
  EXPECT_EQ(status_of(new_tls_client(get("ok.test:2")).read_head()), 502);
  rest(server);
  old.send(get_origin("/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 "));
}

TEST_F(TlsListener, AReloadRefusesACertificateThatIsNone) {
  the_proxy();
  dir.write("proxy.crt", "broken\n");
  try {
    reload();
    FAIL() << "taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("listeners[0].tls: " + files_.certificate.string()), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace bloomwall::test
