// What waits in the proxy counts against limits.buffer_memory, wherever it waits.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "proxy/io/chain.h"
#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/proxy/worker/tls_peer.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::test {
namespace {

using Memory = ProxyTest;
using proxy::TlsContext;
using proxy::TlsSession;

// What is not whole yet waits as bodies do.
TEST_F(Memory, HeadsCountAsBufferMemory) {
  given.settings.limits.buffer_memory = std::uint64_t{1} << 20;
  std::vector<ScriptedPeer> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(new_client("GET http://ok.test/ HTTP/1.1\r\nX: " + std::string(50'000, 'h')));
  }
  std::size_t refused = 0;
  for (auto& client : clients) {
    if (!client.is_quiet_for(std::chrono::milliseconds(50))) refused += status_of(client.read_head()) == 503 ? 1U : 0U;
  }
  EXPECT_GT(refused, 10U);
  EXPECT_LT(refused, 35U);
  EXPECT_LE(the_proxy().gauges().buffer_bytes, given.settings.limits.buffer_memory);
  clients.clear();
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
}

// One that is whole is held until the end of its body.
TEST_F(Memory, HeadsOfOriginsCountAsBufferMemory) {
  given.settings.limits.buffer_memory = std::uint64_t{1} << 20;
  for (const std::string rest : {"", "\r\nContent-Length: 10\r\n\r\n"}) {
    std::vector<Exchange> under_way;
    std::size_t refused = 0;
    for (int i = 0; i < 40; ++i) under_way.push_back(exchange());
    for (auto& one : under_way) one.server.send("HTTP/1.1 200 OK\r\nX: " + std::string(50'000, 'h') + rest);
    for (auto& one : under_way) {
      if (!one.client.is_quiet_for(std::chrono::milliseconds(50))) {
        refused += status_of(one.client.read_head()) == 503 ? 1U : 0U;
      }
    }
    EXPECT_GT(refused, 10U) << rest;
    EXPECT_LT(refused, 38U) << rest;
    under_way.clear();
    wait_for_counter(&Counters::client_connections_active, 0);
    EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
  }
}

// Those that are not whole yet are held as heads are.
TEST_F(Memory, TrailersCountAsBufferMemory) {
  given.settings.limits.buffer_memory = std::uint64_t{1} << 20;
  const std::string half = "0\r\nX: " + std::string(15'000, 't');
  for (const bool of_requests : {true, false}) {
    const std::uint64_t before = errors(proxy::ErrorKind::connection_limit);
    std::vector<Exchange> under_way;
    for (int i = 0; i < 100; ++i) {
      under_way.push_back(exchange(of_requests ? post_origin("Transfer-Encoding: chunked\r\n") : get_origin()));
    }
    for (auto& one : under_way) {
      if (of_requests) {
        one.client.send(half);
      } else {
        one.server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + half);
      }
    }
    wait_until([&] { return errors(proxy::ErrorKind::connection_limit) > before + 10; });
    EXPECT_LE(the_proxy().gauges().buffer_bytes, given.settings.limits.buffer_memory);
    EXPECT_LT(errors(proxy::ErrorKind::connection_limit), before + 90);
    under_way.clear();
    wait_for_counter(&Counters::client_connections_active, 0);
    EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
  }
}

// It is kept for as long as the WebSocket is open, to be judged again and logged.
TEST_F(Memory, UrlsOfWebSocketsCountAsBufferMemory) {
  given.settings.limits.buffer_memory = std::uint64_t{1} << 20;
  const std::string url = "/" + std::string(50'000, 'u');
  const std::string upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  std::vector<Exchange> open;
  std::size_t refused = 0;
  for (int i = 0; i < 40; ++i) {
    auto client = new_client(get_origin(url, upgrade));
    if (origin.speaks_first(client)) {
      refused += status_of(client.read_head()) == 503 ? 1U : 0U;
      continue;
    }
    auto server = origin.accept();
    server.read_head();
    server.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    EXPECT_EQ(status_of(client.read_head()), 101);
    open.push_back({std::move(client), std::move(server), {}});
  }
  EXPECT_GT(refused, 10U);
  EXPECT_GT(open.size(), 5U);
  open.clear();
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
}

// A hello that is not whole is held twice: as it came, for the far end, and as a message, to be read.
TEST_F(Memory, HellosCountAsBufferMemory) {
  std::string message = "\x01" + std::string("\x00\xea\x60\x03\x03", 5) + std::string(47'000, 'x'), half;
  for (std::size_t at = 0; at < message.size(); at += 16'000) {
    half += std::string("\x16\x03\x01\x3e\x80", 5) + message.substr(at, 16'000);
  }
  std::vector<Tunnel> open;
  for (int i = 0; i < 10; ++i) {
    open.push_back(tunnel());
    open.back().client.send(half);
  }
  wait_until([&] { return the_proxy().gauges().buffer_bytes >= 2 * open.size() * 47'000; });
  auto last = tunnel();
  given.settings.limits.buffer_memory = std::uint64_t{1} << 20;
  reload();
  last.client.send(half);
  last.client.expect_end();
  last.server.expect_end();
  open.clear();
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
}

class TlsMemory : public ProxyTest {
 protected:
  TlsMemory() { given.settings.listeners.front().tls = {files_.certificate, files_.key}; }
  const TestCertificate files_ = make_certificate(dir.path(), "proxy", "proxy.test");
};

// A handshake that is begun and not finished holds the most.
TEST_F(TlsMemory, HandshakesCountAsBufferMemory) {
  given.settings.limits.buffer_memory = std::uint64_t{1} << 20;
  const std::string half = proxy::http_test::client_hello(proxy::http_test::server_name("proxy.test")).substr(0, 60);
  std::vector<ScriptedPeer> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(new_client(half));
  // Some are cut, or closed for those that come later.
  const auto ended = [&] {
    return counter(&Counters::tls_handshake_failures_total) + counter(&Counters::client_connections_shed_total);
  };
  wait_until([&] { return ended() > 10; });
  EXPECT_LE(the_proxy().gauges().buffer_bytes, given.settings.limits.buffer_memory);
  EXPECT_LT(counter(&Counters::client_connections_shed_total), 35U);
  clients.clear();
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
}

TEST_F(TlsMemory, SessionsCountAsBufferMemory) {
  constexpr std::size_t kLeast = std::size_t{16} * 1024;  // of one
  const auto peers = TlsContext::for_peers(files_.certificate);
  ASSERT_TRUE(peers.has_value()) << peers.error();
  std::vector<TlsPeer> clients;
  for (int i = 0; i < 10; ++i) {
    clients.emplace_back(new_client(), TlsSession::connect(**peers, "proxy.test"));
    clients.back().shake_hands();
  }
  wait_until([&] { return the_proxy().gauges().buffer_bytes >= clients.size() * kLeast; });
  clients.clear();
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
}

// Nobody who arrives is refused for what those hold that only idle.
TEST_F(TlsMemory, WhoIdlesLongestGivesWay) {
  given.settings.limits.buffer_memory = std::uint64_t{1} << 20;
  const auto peers = TlsContext::for_peers(files_.certificate);
  ASSERT_TRUE(peers.has_value()) << peers.error();
  const auto asks = [](TlsPeer& client) {
    client.send("HEAD / HTTP/1.1\r\nHost: proxy.test\r\n\r\n");
    return status_of(client.read_head());
  };
  std::vector<TlsPeer> clients;
  for (int i = 0; i < 100; ++i) {
    clients.emplace_back(new_client(), TlsSession::connect(**peers, "proxy.test"));
    clients.back().shake_hands();
    ASSERT_EQ(asks(clients.back()), 421) << i;
  }
  clients.front().expect_end();
  EXPECT_EQ(asks(clients.back()), 421);
  EXPECT_GT(counter(&Counters::client_connections_shed_total), 10U);
  EXPECT_LT(counter(&Counters::client_connections_shed_total), 95U);
  wait_until([&] {  // what the last request held is given back after its answer
    const auto gauges = the_proxy().gauges();
    return gauges.buffer_kinds[static_cast<std::size_t>(proxy::BufferKind::tls)] == gauges.buffer_bytes;
  });
  clients.clear();
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
}

// Many at once, each of which holds more than one that idles: as many as they need give way.
TEST_F(TlsMemory, ThoseWhoArriveTogetherAreServedInPlaceOfThoseWhoIdle) {
  given.settings.limits.buffer_memory = std::uint64_t{1} << 20;
  const auto peers = TlsContext::for_peers(files_.certificate);
  ASSERT_TRUE(peers.has_value()) << peers.error();
  const std::string request = "HEAD / HTTP/1.1\r\nHost: proxy.test\r\n\r\n";
  std::vector<TlsPeer> idle, arriving;
  for (int i = 0; i < 60; ++i) {
    idle.emplace_back(new_client(), TlsSession::connect(**peers, "proxy.test"));
    idle.back().shake_hands();
    idle.back().send(request);
    ASSERT_EQ(status_of(idle.back().read_head()), 421) << i;
  }
  for (int i = 0; i < 14; ++i) arriving.emplace_back(new_client(), TlsSession::connect(**peers, "proxy.test"));
  for (TlsPeer& client : arriving) client.shake_hands();
  for (TlsPeer& client : arriving) client.send(request);
  for (TlsPeer& client : arriving) EXPECT_EQ(status_of(client.read_head()), 421);
  EXPECT_EQ(counter(&Counters::tls_handshake_failures_total), 0U);
}

}  // namespace
}  // namespace bloomwall::test
