// Exchanges without a socket: the client and the idle connection to the origin are pairs in memory, and what would have
// to be dialled waits for a resolver that the test plays.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/exchange.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "filter/policy/policy.h"
#include "proxy/client/client_session.h"
#include "proxy/decision/recent_denials.h"
#include "proxy/decision/worker_state.h"
#include "proxy/upstream/addresses.h"
#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/memory_worker.h"
#include "tests/support/fake_resolver.h"
#include "tests/support/http_text.h"
#include "tests/support/memory_transport.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::proxy {
namespace {

using test::MemoryTransport;

// The far end of a pair: what the proxy's peer hears.
struct Peer final : Transport::Handler {
  std::size_t on_data(std::span<const char> bytes) override {
    heard.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_end() override { ended = true; }
  void on_drained() override {}
  void on_write_failed(int) override { ended = true; }
  void on_failed(int) override { ended = true; }
  bool has_heard(const std::string& text) const { return heard.find(text) != std::string::npos; }

  std::unique_ptr<MemoryTransport> transport;
  std::string heard;
  bool ended = false;
};

class Exchanges : public ::testing::Test, protected MemoryWorker, public ClientSession::Owner {
 protected:
  Exchanges() {
    settings_.access.deny_destinations = {};
    settings_.access.connect_ports = {};
    adopt({});
  }
  ~Exchanges() override {
    if (session_ != nullptr) session_->close();
    worker_.upstreams.clear();
    for (Peer* const peer : {&client_, &origin_}) {
      if (peer->transport != nullptr) peer->transport->close();
    }
    while (!loop_.deferred().empty()) loop_.deferred().sweep();
  }
  std::optional<std::string> on_client_named(ClientSession&) override { return std::nullopt; }
  void on_client_idle(ClientSession& client, bool is_idle) override {
    is_idle ? idle_.push_back(client) : client.leave();
  }
  void on_client_closed(ClientSession&) override { loop_.deferred().delete_later(std::move(session_)); }

  void adopt(const filter::PolicySpec& spec) {
    auto snapshot = make_snapshot(settings_, 1);
    auto policy = filter::Policy::load(spec, {});
    worker_.adopt(*std::move(snapshot), *std::move(policy));
  }
  // The proxy's end of a new pair; the other one is the peer's.
  std::unique_ptr<MemoryTransport> end_beside(Peer& peer) {
    auto near = std::make_unique<MemoryTransport>(io_, peer);
    peer.transport = std::make_unique<MemoryTransport>(io_, peer);
    MemoryTransport::join(*near, *peer.transport);
    return near;
  }
  void connect_client() {
    auto near = end_beside(client_);
    towards_client_ = near.get();
    session_ = std::make_unique<ClientSession>(worker_, *this, std::move(near), *Endpoint::parse_ip("127.0.0.1"),
                                               listener_, rules_);
  }
  void client_says(const std::string& text) {
    if (client_.transport == nullptr) connect_client();
    client_.transport->send(text);
  }
  // There is an idle connection to http://origin.test, and it has rested.
  void keep_an_origin() {
    auto near = end_beside(origin_);
    towards_origin_ = near.get();
    worker_.upstreams.put(
        worker_.upstreams.make(std::move(near), *Endpoint::parse_ip("127.0.0.1"), "http://origin.test:80"),
        Standing::clear, Milliseconds(60'000));
    const Milliseconds rested = monotonic_now() + UpstreamPool::kRest + Milliseconds(50);
    turn_until([&] { return monotonic_now() >= rested; });
  }
  template <typename Done>
  void turn_until(Done done) {
    const Milliseconds deadline = monotonic_now() + test::kPatience;
    while (!done()) {
      ASSERT_LT(monotonic_now(), deadline) << "it never happened; the client heard: " << client_.heard;
      event_base_loop(loop_.base(), EVLOOP_ONCE);
    }
  }

  ListenerRules rules_;
  IntrusiveList<ClientSession, ClientSession> idle_;
  Peer client_, origin_;
  MemoryTransport *towards_client_ = nullptr, *towards_origin_ = nullptr;
  std::unique_ptr<ClientSession> session_;
};

TEST_F(Exchanges, ARequestGoesOutOnAnIdleConnectionAndItsAnswerComesBack) {
  keep_an_origin();
  client_says(test::get("origin.test", "/a"));
  turn_until([&] { return origin_.has_heard("\r\n\r\n"); });
  EXPECT_TRUE(origin_.heard.starts_with("GET /a HTTP/1.1\r\n")) << origin_.heard;
  EXPECT_EQ(worker_.requests_in_flight.get(), 1U);
  EXPECT_TRUE(idle_.empty());
  origin_.transport->send(test::ok("hello"));
  turn_until([&] { return client_.has_heard("hello"); });
  EXPECT_TRUE(client_.heard.starts_with("HTTP/1.1 200 ")) << client_.heard;
  EXPECT_EQ(worker_.requests_in_flight.get(), 0U);
  EXPECT_FALSE(idle_.empty());
  EXPECT_EQ(counters_.upstream_reuses_total.get(), 1U);
  EXPECT_EQ(counters_.upstream_connections_idle.get(), 1U);
  EXPECT_FALSE(client_.ended);
}

TEST_F(Exchanges, ARequestWhoseConnectionDiesSilentlyIsDialledFor) {
  keep_an_origin();
  client_says(test::get("origin.test", "/"));
  turn_until([&] { return origin_.has_heard("\r\n\r\n"); });
  origin_.transport->close_with_reset();
  turn_until([&] { return !resolver_.asked.empty(); });
  EXPECT_EQ(resolver_.asked, std::vector<std::string>{"origin.test"});
  EXPECT_EQ(counters_.upstream_retries_total.get(), 1U);
  EXPECT_EQ(client_.heard, "");
  resolver_.answer(Family::v6, {});
  resolver_.answer(Family::v4, {}, ResolveError::no_such_name);
  turn_until([&] { return client_.has_heard("\r\n\r\n"); });
  EXPECT_TRUE(client_.heard.starts_with("HTTP/1.1 502 ")) << client_.heard;
  EXPECT_EQ(errors(ErrorKind::dns_error), 1U);
}

TEST_F(Exchanges, AConnectionThatDiesInTheMiddleOfAnAnswerIsNotDialledForAgain) {
  keep_an_origin();
  client_says(test::get("origin.test", "/"));
  turn_until([&] { return origin_.has_heard("\r\n\r\n"); });
  origin_.transport->send(std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"));
  turn_until([&] { return client_.has_heard("half"); });
  origin_.transport->close_with_reset();
  turn_until([&] { return client_.ended; });
  EXPECT_TRUE(resolver_.asked.empty());
  EXPECT_EQ(counters_.upstream_retries_total.get(), 0U);
  EXPECT_EQ(errors(ErrorKind::connection_terminated), 1U);
}

// It is our lack, and not the origin's end.
TEST_F(Exchanges, AnOriginForWhichThereIsNoMemoryIsOurFault) {
  keep_an_origin();
  client_says(test::get("origin.test", "/"));
  turn_until([&] { return origin_.has_heard("\r\n\r\n"); });
  origin_.transport->send(std::string("HTTP/1.1 103 Early Hints\r\n\r\n"));
  turn_until([&] { return client_.has_heard("103"); });
  towards_origin_->lack_memory();
  turn_until([&] { return client_.has_heard("HTTP/1.1 503 "); });
  EXPECT_TRUE(client_.has_heard("limits.buffer_memory")) << client_.heard;
  EXPECT_EQ(errors(ErrorKind::connection_limit), 1U);
}

TEST_F(Exchanges, WhatIsLeftOfARequestThatWasAnsweredHereIsDroppedAndTheNextOneHeard) {
  client_says("POST /here HTTP/1.1\r\nHost: proxy.test\r\nContent-Length: 10\r\n\r\n12345");
  turn_until([&] { return client_.has_heard("\r\n\r\n"); });
  EXPECT_TRUE(client_.heard.starts_with("HTTP/1.1 421 ")) << client_.heard;
  EXPECT_EQ(worker_.requests_in_flight.get(), 1U) << "the rest of it is still to come";
  client_.heard.clear();
  client_says("67890" + test::get("later.test", "/"));
  turn_until([&] { return !resolver_.asked.empty(); });
  EXPECT_EQ(resolver_.asked.front(), "later.test");
  EXPECT_EQ(client_.heard, "");
}

// Whoever has the answer may ask what was blocked at once, by another connection, on another worker.
TEST_F(Exchanges, ADenialIsNotedBeforeItsAnswerLeaves) {
  const std::string address = "address 127.0.0.1";
  const std::vector<std::string> rows[] = {
      {"GetWithoutBody", test::get("denied.test", "/")},
      {"PostWhoseBodyIsStillToCome", test::request("POST", "denied.test", "/", "Content-Length: 10\r\n", "")},
      {"PostWhoseBodyIsTooLargeToRead", test::request("POST", "denied.test", "/", "Content-Length: 999999\r\n", "")},
      {"Connect", "CONNECT denied.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n"},
  };
  adopt({.filters = {}, .allow_lists = {}, .otherwise = filter::Otherwise::deny});
  for (const auto& row : rows) {
    RecentDenials denials;
    worker_.recent_denials = &denials;
    std::size_t noted = 0;
    connect_client();
    towards_client_->on_send = [&] { noted = denials.of(address).size(); };
    client_says(row[1]);
    turn_until([&] { return client_.has_heard("\r\n\r\n"); });
    EXPECT_TRUE(client_.heard.starts_with("HTTP/1.1 403 ")) << row[0] << ": " << client_.heard;
    EXPECT_EQ(noted, 1U) << row[0];
    client_.transport->close_with_reset();
    turn_until([&] { return session_ == nullptr; });
    EXPECT_EQ(denials.of(address).front().count, 1U) << row[0] << ": noted once";
    client_.heard.clear();
    worker_.recent_denials = nullptr;
  }
}

TEST_F(Exchanges, WhatCannotBeUnderstoodIsAnsweredAndTheConnectionClosed) {
  client_says("GET / HTTP/1.1\r\n\r\n" + test::get("later.test", "/"));
  turn_until([&] { return client_.ended; });
  EXPECT_TRUE(client_.heard.starts_with("HTTP/1.1 400 ")) << client_.heard;
  EXPECT_TRUE(resolver_.asked.empty());
  EXPECT_EQ(errors(ErrorKind::bad_request), 1U);
  EXPECT_EQ(worker_.requests_in_flight.get(), 0U);
}

TEST_F(Exchanges, AClientThatLeavesWhileItsRequestIsDialledForIsLetGo) {
  client_says(test::get("slow.test", "/"));
  turn_until([&] { return !resolver_.asked.empty(); });
  client_.transport->close_with_reset();
  turn_until([&] { return session_ == nullptr; });
  EXPECT_EQ(errors(ErrorKind::client_gone), 1U);
  EXPECT_EQ(worker_.requests_in_flight.get(), 0U);
  resolver_.answer(Family::v4, {"127.0.0.1"});  // nobody waits any more
}

TEST_F(Exchanges, ABodyWaitsUntilItsOriginIsConnected) {
  client_says(test::request("POST", "slow.test", "/", "Content-Length: 4\r\n", ""));
  turn_until([&] { return !resolver_.asked.empty(); });
  client_says("body");
  resolver_.answer(Family::v6, {});
  resolver_.answer(Family::v4, {}, ResolveError::no_such_name);
  turn_until([&] { return client_.has_heard("\r\n\r\n"); });
  EXPECT_TRUE(client_.heard.starts_with("HTTP/1.1 502 ")) << client_.heard;
  client_says(test::get("later.test", "/"));
  turn_until([&] { return resolver_.asked.size() == 2; });
  EXPECT_EQ(resolver_.asked.back(), "later.test") << "the body is no part of the next request";
}

TEST_F(Exchanges, AnOriginIsReadNoFasterThanTheClientTakes) {
  constexpr std::size_t kSize = std::size_t{4} << 20;
  keep_an_origin();
  origin_.transport->room = std::size_t{64} * 1024;
  client_says(test::get("origin.test", "/"));
  turn_until([&] { return origin_.has_heard("\r\n\r\n"); });
  towards_client_->room = 1000;
  client_.transport->pause(PauseReason::busy);
  origin_.transport->send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kSize) + "\r\n\r\n");
  origin_.transport->send(std::string(kSize, 'x'));
  turn_until([&] { return towards_client_->backlog() > 0; });
  for (int turn = 0; turn < 20; ++turn) event_base_loop(loop_.base(), EVLOOP_NONBLOCK);
  EXPECT_LE(towards_client_->backlog(), std::size_t{256} * 1024);
  EXPECT_GT(origin_.transport->backlog(), kSize / 2);
  towards_client_->room = SIZE_MAX;
  client_.transport->resume(PauseReason::busy);
  turn_until([&] { return client_.heard.size() > kSize; });
  EXPECT_TRUE(client_.heard.ends_with("xxxx"));
}

TEST_F(Exchanges, AClientHelloOfARedirectedClientOpensATunnelToWhereItWasGoingAndGoesThroughOnce) {
  test::ScriptedListener origin;
  connect_client();
  session_->expect_redirected(Endpoint::parse_ip("127.0.0.1")->with_port(origin.port()));
  const std::string hello = proxy::http_test::client_hello(proxy::http_test::server_name("named.test"));
  client_says(hello.substr(0, 20));
  client_says(hello.substr(20));
  turn_until([&] { return counters_.sni_seen_total.get() == 1; });
  origin.accept().expect(hello);
  EXPECT_TRUE(resolver_.asked.empty()) << "the address that it meant is dialled, whatever it calls that";
  EXPECT_EQ(counters_.sni_mismatch_total.get(), 0U);
  EXPECT_EQ(client_.heard, "") << "it knows of no proxy";
  EXPECT_EQ(worker_.requests_in_flight.get(), 0U);
  EXPECT_EQ(session_->state(), ClientSession::State::tunnelling);
}

TEST_F(Exchanges, ARedirectedClientWhoseHelloIsMalformedIsClosedWithoutAWord) {
  connect_client();
  session_->expect_redirected(Endpoint::parse_ip("127.0.0.1")->with_port(9));
  client_says(proxy::http_test::records(proxy::http_test::handshake("no hello")));
  turn_until([&] { return session_ == nullptr; });
  EXPECT_EQ(client_.heard, "");
  EXPECT_EQ(counters_.sni_malformed_total.get(), 1U);
  EXPECT_EQ(errors(ErrorKind::bad_request), 1U);
  EXPECT_EQ(counters_.tunnels_total.get(), 0U);
}

}  // namespace
}  // namespace bloomwall::proxy
