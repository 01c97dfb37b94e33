// URLs that are allowed on hosts that are blocked: where TLS is inspected they are asked about one by one, and where it
// is not, the answer says that the host is blocked.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/inspection_fixture.h"

namespace bloomwall::test {
namespace {

using proxy::ErrorKind;
using Mode = conf::TlsInspection::Mode;

class AllowedInside : public InspectionTest {
 protected:
  AllowedInside() {
    given.list = "ok.test\n";
    given.allowed = "https://ok.test/docs/\n";
    given.logged = true;
    given.settings.tls_inspection.mode = Mode::urls;
  }
  std::string connect(const std::string& fields = "", const std::string& host = "ok.test") const {
    return "CONNECT " + at(host) + " HTTP/1.1\r\nHost: " + at(host) + "\r\n" + fields + "\r\n";
  }
  void expect_urls_to_differ() {
    auto [client, server] = intercept();
    client.send(inner(at("ok.test"), "/docs/x"));
    server.read_head();
    answer(server, client, "the page");
    client.send(inner(at("ok.test"), "/other"));
    EXPECT_EQ(status_of(read_answer(client).head), 403);
  }
  std::string line_with(const std::string& text) {
    std::string found;
    wait_until([&] {
      const std::string log = log_text();
      const std::size_t at = log.find(text);
      if (at == std::string::npos) return false;
      const std::size_t begin = log.rfind('\n', at) + 1, end = log.find('\n', at);
      if (end == std::string::npos) return false;
      found = log.substr(begin, end - begin);
      return true;
    });
    return found;
  }
};

TEST_F(AllowedInside, AreReachedInModeUrls) {
  expect_urls_to_differ();
  const std::string line = line_with("\"CONNECT\"");
  EXPECT_NE(line.find("\"decision\":\"allowed\""), std::string::npos) << line;
  EXPECT_NE(line.find("\"tls_action\":\"intercepted\",\"tls_reason\":\"mark\""), std::string::npos) << line;
}

TEST_F(AllowedInside, AreReachedInModeAllWhereNothingElseIs) {
  given.list.clear();
  given.settings.otherwise = conf::Otherwise::deny;
  given.settings.tls_inspection.mode = Mode::all;
  expect_urls_to_differ();
  EXPECT_EQ(status_of(reply_to(connect("", "mixed.test"))), 403);
}

TEST_F(AllowedInside, TheHostIsBlockedWhereNothingIsDecrypted) {
  given.settings.tls_inspection.mode = Mode::off;
  EXPECT_EQ(status_of(reply_to(connect())), 403);
}

TEST_F(AllowedInside, APageSaysThatTheHostIsBlocked) {
  given.settings.tls_inspection.mode = Mode::blocked;
  auto socket = new_client(connect("User-Agent: Mozilla/5.0\r\n"));
  EXPECT_EQ(status_of(socket.read_head()), 200);
  TlsPeer client = hello(std::move(socket));
  client.shake_hands();
  client.send(inner(at("ok.test"), "/docs/x", "Accept: application/json\r\n"));
  const Answer answer = read_answer(client);
  EXPECT_EQ(status_of(answer.head), 403) << answer.head;
  EXPECT_NE(answer.body.find("\"ok.test\""), std::string::npos) << answer.body;
  const std::string line = line_with("/docs/");
  EXPECT_NE(line.find("\"decision\":\"blocked\""), std::string::npos) << line;
  EXPECT_EQ(errors(ErrorKind::connection_terminated), 0U);
}

TEST_F(AllowedInside, NothingElsePassesInTheTunnel) {
  {
    auto [client, server] = tunnel("ok.test");
    client.send(std::string(200, '\1'));
    client.expect_end();
    EXPECT_EQ(server.read_to_end(), "") << "opaque octets";
  }
  {
    auto [client, server] = tunnel("ok.test");
    client.send("x");
    server.send("220 says who speaks first\r\n");
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_EQ(server.read_to_end(), "");
  }
  {
    auto [client, server] = tunnel("ok.test");
    client.send(inner(at("ok.test"), "/docs/in-clear"));
    server.read_head();
    answer(server, client, "x");
    client.send(inner(at("ok.test"), "/other"));
    EXPECT_EQ(status_of(read_answer(client).head), 403);
  }
}

TEST_F(AllowedInside, AReloadLeavesTunnelsThatHaveNotBegun) {
  auto [socket, server_socket] = tunnel("ok.test");
  reload();
  TlsPeer client = hello(std::move(socket));
  TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
  server.shake_hands();
  client.shake_hands();
  auto [silent, silent_server] = tunnel("ok.test");
  given.allowed = "https://ok.test.other.test/docs/\n";
  reload();
  silent.expect_end();
  silent_server.expect_end();
}

TEST_F(AllowedInside, AReloadLeavesWebSocketsOfThem) {
  given.allowed = "http://ok.test/docs/\n";
  auto open = exchange(get(at("ok.test"), "/docs/socket",
                           "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"));
  open.server.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(status_of(open.client.read_head()), 101);
  reload();
  open.server.send("still here");
  open.client.expect("still here");
  given.allowed.clear();
  reload();
  open.client.expect_end();
}

// The name in the ClientHello is the blocked one.
TEST_F(AllowedInside, UnderTheServerName) {
  auto [socket, server_socket] = tunnel("mixed.test");
  TlsPeer client = hello(std::move(socket), "ok.test");
  TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
  server.shake_hands();
  client.shake_hands();
  client.send(inner(at("ok.test"), "/docs/x"));
  server.read_head();
  answer(server, client, "x");
  EXPECT_EQ(counter(&Counters::sni_blocked_total), 0U);
}

TEST_F(AllowedInside, AnExemptHostStaysBlocked) {
  given.settings.tls_inspection.never = {dir.write("never.txt", "ok.test\n")};
  EXPECT_EQ(status_of(reply_to(connect())), 403);
}

TEST_F(AllowedInside, OnlyAtPortsThatTunnelsMayGoTo) {
  given.settings.access.connect_ports = {443};
  EXPECT_EQ(status_of(reply_to(connect())), 403);
  EXPECT_EQ(errors(ErrorKind::port_denied), 1U);
}

}  // namespace
}  // namespace bloomwall::test
