// What a tunnel is let in by, and what a reload makes of it: hellos are judged by the policy of their moment, open
// tunnels end where their host or server name is blocked by the next one, and none keeps the old policy.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using proxy::ErrorKind;
using proxy::http_test::client_hello;
using proxy::http_test::extension;
using proxy::http_test::handshake;
using proxy::http_test::records;
using proxy::http_test::server_name;

const std::string kUpgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string kSwitched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
// Of a HelloRetryRequest (RFC 8446 section 4.1.3).
const std::string kRetryRandom =
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09"
    "\xe2\xc8\xa8\x33\x9c";
std::string server_hello(const std::string& random) { return records(handshake("\x03\x03" + random + "rest", 2)); }

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
  Exchange web_socket() {
    auto open = exchange(get(at("ok.test"), "/socket", kUpgrade));
    open.server.send(kSwitched);
    EXPECT_EQ(status_of(open.client.read_head()), 101);
    return open;
  }
  static void say_hello(Tunnel& open, const std::string& name) {
    const std::string hello = client_hello(server_name(name));
    open.client.send(hello);
    open.server.expect(hello);
  }
  static void say_back(Tunnel& open, const std::string& text) {
    open.server.send(text);
    open.client.expect(text);
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
  auto open = web_socket();
  block("http://ok.test/other");
  open.server.send("still here");
  open.client.expect("still here");
  block("http://ok.test/socket");
  open.client.expect_end();
}

// Inside a tunnel the URL counts under the tunnel's host, too, as it did when the request was judged.
TEST_F(TunnelReview, AWebSocketInATunnelEndsWithItsUrlWhateverHostSays) {
  const auto open_inside = [&](const std::string& target, const std::string& host) {
    auto open = tunnel("ok.test");
    open.client.send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + kUpgrade + "\r\n");
    open.server.read_head();
    open.server.send(kSwitched);
    EXPECT_EQ(status_of(open.client.read_head()), 101);
    return open;
  };
  std::vector<Tunnel> ending;
  ending.push_back(open_inside("/socket?a=b", at("ok.test")));
  ending.push_back(open_inside("/socket?a=b", "ok.test"));
  ending.push_back(open_inside("/socket?a=b", "mixed.test"));
  ending.push_back(open_inside("http://mixed.test/socket?a=b", "mixed.test"));
  auto staying = open_inside("/sockets", "mixed.test");
  block("http://ok.test/socket");
  for (Tunnel& open : ending) open.client.expect_end();
  say_back(staying, "still here");
}

// The pages that the new verdict takes are not in memory.
TEST_F(TunnelReview, AWebSocketEndsWithItsUrlWherePagesMustBeAwaited) {
  given.paged = true;
  given.list = "http://127.0.0.1/listed\n";
  auto open = exchange(get_origin("/socket", kUpgrade)), other = exchange(get_origin("/other", kUpgrade));
  for (Exchange* each : {&open, &other}) {
    each->server.send(kSwitched);
    EXPECT_EQ(status_of(each->client.read_head()), 101);
  }
  block("http://127.0.0.1/socket");
  open.client.expect_end();
  other.server.send("still here");
  other.client.expect("still here");
}

// The access rules of the next settings are asked like its filters.
TEST_F(TunnelReview, TunnelsThatAReloadDeniesEnd) {
  const struct {
    const char* name;
    void (*change)(conf::Access& access, std::uint16_t port);
    ErrorKind error;
    std::uint64_t ended;
  } rows[] = {
      {"destinations", [](conf::Access& a, std::uint16_t) { a.deny_destinations = {"loopback"}; },
       ErrorKind::destination_denied, 2},
      {"clients", [](conf::Access& a, std::uint16_t) { a.clients = {"192.0.2.0/24"}; }, ErrorKind::client_denied, 2},
      {"connect_ports", [](conf::Access& a, std::uint16_t) { a.connect_ports = {443}; }, ErrorKind::port_denied, 1},
      {"deny_ports", [](conf::Access& a, std::uint16_t port) { a.deny_ports = {port}; }, ErrorKind::port_denied, 1},
  };
  const conf::Access permissive = given.settings.access;
  std::uint64_t ended = 0, denied_ports = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto open = tunnel("ok.test");
    auto socket = web_socket();
    row.change(given.settings.access, origin.port());
    reload();
    const bool is_first = std::string_view(row.name) != "deny_ports";
    const bool is_second = std::string_view(row.name) != "connect_ports";
    if (is_first) open.client.expect_end();
    if (is_second) socket.client.expect_end();
    if (!is_first) open.client.close();
    if (!is_second) socket.client.close();
    ended += row.ended;
    EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), ended);
    if (row.error == ErrorKind::port_denied) {
      EXPECT_EQ(errors(row.error), ++denied_ports);
    } else {
      EXPECT_EQ(errors(row.error), row.ended);
    }
    given.settings.access = permissive;
    reload();
  }
  const std::string log = log_text();
  EXPECT_NE(log.find("\"decision\":\"refused\",\"decision_reason\":\"destination_denied\""), std::string::npos) << log;
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
  EXPECT_EQ(blocked, 1U);
  EXPECT_EQ(errors(ErrorKind::bad_request), 1U);
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
    say_back(open, server_hello(kRetryRandom));
    say_hello(open, "ok.test");
    say_back(open, server_hello(std::string(32, 'r')));
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

// Some servers pass over what they do not expect, and then believe the hello behind it.
TEST_F(TunnelReview, NothingButAHelloComesBeforeTheServerHasSaidHello) {
  const std::string request = records(handshake("", 0)), data("\x17\x03\x03\x00\x01x", 6),
                    unknown("\x63\x03\x03\x00\x01x", 6);
  for (const std::string& between : {request, data, unknown}) {
    for (const bool retry : {false, true}) {
      auto open = tunnel("ok.test");
      say_hello(open, "ok.test");
      if (retry) say_back(open, server_hello(kRetryRandom));
      open.client.send(between + client_hello(server_name("listed.example")));
      open.client.expect_end();
      EXPECT_EQ(open.server.read_to_end().find("listed"), std::string::npos);
    }
  }
  auto plain = tunnel("ok.test");  // what the server is, nobody knows
  say_hello(plain, "ok.test");
  say_back(plain, "not TLS");
  plain.client.send(data);
  plain.server.expect(data);
}

TEST_F(TunnelReview, ARecordThatTlsDoesNotKnowIsNoOtherProtocol) {
  using Opaque = conf::Access::OpaqueTunnels;
  const std::string hello = client_hello(server_name("listed.example"));
  for (const Opaque mode : {Opaque::http, Opaque::allow}) {
    given.settings.access.opaque_tunnels = mode;
    reload();
    for (const char type : {'\x00', '\x13', '\x19', 'G', '\x63'}) {
      for (const std::size_t piece : {std::size_t{1}, std::size_t{4096}}) {
        auto open = tunnel("ok.test");
        try {
          open.client.send_in_pieces(std::string(1, type) + std::string("\x03\x01\x00\x01x", 5) + hello, piece);
        } catch (const std::runtime_error&) {  // cut meanwhile
        }
        EXPECT_LE(open.server.read_to_end().size(), 1U) << static_cast<int>(type);
      }
    }
    auto socks = tunnel("ok.test");
    const std::string greeting("\x05\x03\x00\x01\x02", 5);
    socks.client.send(greeting);
    socks.server.expect(greeting);
    socks.server.send("\x05");
    socks.client.expect("\x05");
    socks.client.send(hello);
    socks.server.expect(hello);
  }
}

}  // namespace
}  // namespace bloomwall::test
