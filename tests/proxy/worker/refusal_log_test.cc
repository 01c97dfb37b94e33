// What the log and the counters say of what was refused, or failed: whatever the proxy ends has a line that tells the
// truth, and an id, and is counted once.
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using conf::Access;
using filter::Decision;
using nlohmann::json;
using proxy::ErrorKind;
using proxy::http_test::client_hello;
using proxy::http_test::server_name;

class RefusalLog : public ProxyTest {
 protected:
  RefusalLog() {
    given.list = "listed.example\nhttp://mixed.test/bad/\n";
    given.logged = true;
  }
  std::vector<json> lines() {
    std::vector<json> lines;
    const std::string text = log_text();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      lines.push_back(json::parse(text.substr(at, end - at)));
      at = end + 1;
    }
    return lines;
  }
  // The only line so far, once its connection is gone.
  json only_line() {
    wait_for_counter(&Counters::client_connections_active, 0);
    const auto all = lines();
    EXPECT_EQ(all.size(), 1U) << log_text();
    return all.empty() ? json::object() : all.front();
  }
  std::uint64_t judged(proxy::MethodClass method, Decision decision) {
    const auto sum = counters();
    const auto& reasons = sum->requests[static_cast<std::size_t>(method)][static_cast<std::size_t>(decision)];
    return std::accumulate(reasons.begin(), reasons.end(), std::uint64_t{0},
                           [](std::uint64_t all, const auto& count) { return all + count.get(); });
  }
  std::uint64_t responses(std::size_t status_class) { return counters()->responses[status_class].get(); }
  static void expect_error(const json& line, const std::string& error) {
    EXPECT_EQ(line.value("error", ""), error) << line;
    EXPECT_EQ(line.value("id", "").size(), 16U) << line;
  }
  static void expect_refused(const json& line, int status, const std::string& error) {
    EXPECT_EQ(line.value("status", -1), status) << line;
    EXPECT_FALSE(line.value("allow", true)) << line;
    EXPECT_EQ(line.value("decision", ""), "refused") << line;
    EXPECT_EQ(line.value("decision_reason", ""), error) << line;
    expect_error(line, error);
  }
};

struct Said {
  const char* name;
  std::string text;
  int status;
  ErrorKind error;
  bool ends = false;  // the client ends its side behind it
};
const std::string kAlert("\x15\x03\x01\x00\x02\x01\x5a", 7);

class RefusedTunnel : public RefusalLog, public testing::WithParamInterface<Said> {};

TEST_P(RefusedTunnel, IsLoggedAndCountedAsRefused) {
  const Said& said = GetParam();
  given.settings.access.opaque_tunnels = Access::OpaqueTunnels::deny;
  given.settings.access.no_sni = Access::NoSni::deny;
  given.settings.access.sni_mismatch = Access::SniMismatch::deny;
  given.settings.timeouts.request_header = said.status == 408 ? 200ms : 60s;
  {
    auto open = tunnel("ok.test");
    open.client.send(said.text);
    if (said.ends) open.client.shut_write();
    open.client.expect_end();
    open.server.read_to_end();
  }
  const json line = only_line();
  expect_refused(line, said.status, to_string(said.error));
  EXPECT_EQ(line.value("proxy_type", ""), "connect");
  EXPECT_NE(line.value("error_detail", ""), "");
  EXPECT_EQ(errors(said.error), 1U);
  EXPECT_EQ(judged(proxy::MethodClass::connect, Decision::allowed), 0U);
  EXPECT_EQ(judged(proxy::MethodClass::connect, Decision::blocked), 0U);
  EXPECT_EQ(responses(2), 0U);
  EXPECT_EQ(responses(4), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Gate, RefusedTunnel,
    testing::Values(
        Said{"Opaque", "SSH-2.0-x\r\n", 403, ErrorKind::tunnel_denied},
        Said{"HttpWhereNothingButTlsPasses", "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", 403, ErrorKind::tunnel_denied},
        Said{"NoServerName", client_hello(""), 403, ErrorKind::tunnel_denied},
        Said{"OtherServerName", client_hello(server_name("mixed.test")), 403, ErrorKind::tunnel_denied},
        Said{"AnAlertFirst", kAlert, 400, ErrorKind::bad_request},
        Said{"ANameThatNoHostHas", client_hello(server_name("a b")), 400, ErrorKind::bad_request},
        Said{"ASecondHelloForAnotherHost",
             client_hello(server_name("ok.test")) + client_hello(server_name("mixed.test")), 400,
             ErrorKind::bad_request},
        Said{"HalfAHello", client_hello(server_name("ok.test")).substr(0, 40), 408, ErrorKind::request_timeout},
        Said{"HalfAHelloAndTheEnd", client_hello(server_name("ok.test")).substr(0, 40), 400, ErrorKind::bad_request,
             true}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_F(RefusalLog, ABlockedServerNameIsOneBlockedRequest) {
  {
    auto open = tunnel("ok.test");
    open.client.send(client_hello(server_name("listed.example")));
    open.client.expect_end();
  }
  const json line = only_line();
  EXPECT_EQ(line.value("decision", ""), "blocked") << line;
  EXPECT_EQ(line.value("status", 0), 403) << line;
  EXPECT_EQ(line.value("id", "").size(), 16U) << line;
  EXPECT_EQ(judged(proxy::MethodClass::connect, Decision::blocked), 1U);
  EXPECT_EQ(judged(proxy::MethodClass::connect, Decision::allowed), 0U);
  EXPECT_EQ(responses(4), 1U);
  EXPECT_EQ(responses(2), 0U);
  EXPECT_EQ(counters()->filters.get("testlist", filter::FilterAction::block), 1U);
}

TEST_F(RefusalLog, ATunnelThatPassesIsOneAllowedRequest) {
  const std::string hello = client_hello(server_name("ok.test"));
  {
    auto open = tunnel("ok.test");
    open.client.send(hello);
    open.server.expect(hello);
  }
  const json line = only_line();
  EXPECT_EQ(line.value("decision", ""), "allowed") << line;
  {
    auto silent = tunnel("ok.test");
  }
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(judged(proxy::MethodClass::connect, Decision::allowed), 2U) << "one whose client said nothing, too";
  EXPECT_EQ(responses(2), 2U);
}

TEST_F(RefusalLog, WhatFailsInsideABodyHasAnId) {
  const struct {
    const char *answer, *error;
  } rows[] = {{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", "response_incomplete"},
              {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ", "upstream_protocol"}};
  for (const auto& row : rows) {
    auto [client, server, asked] = exchange();
    server.send(row.answer);
    server.close();
    client.read_to_end();
    wait_for_counter(&Counters::client_connections_active, 0);
    expect_error(lines().back(), row.error);
  }
}

TEST_F(RefusalLog, AnAnswerThatStandsStillHasAnId) {
  given.settings.timeouts.body = 200ms;
  {
    auto [client, server, asked] = exchange();
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
    client.expect_reset();
  }
  expect_error(only_line(), "upstream_timeout");
}

TEST_F(RefusalLog, AClientThatGoesHasAnId) {
  for (const bool resets : {false, true}) {
    auto [client, server, asked] = exchange(post_origin(length_field(10), "abc"));
    server.expect("abc");
    resets ? client.reset() : client.shut_write();
    server.read_to_end();
    wait_for_counter(&Counters::client_connections_active, 0);
    expect_error(lines().back(), "client_gone");
    EXPECT_NE(lines().back().value("error_detail", ""), "") << resets;
  }
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(RefusalLog, AStrangerHasALineAndTheIdThatItWasTold) {
  given.settings.access.clients = {"10.0.0.0/8"};
  auto stranger = new_client(get("ok.test"));
  const std::string head = stranger.read_head();
  EXPECT_EQ(status_of(head), 403);
  stranger.read_to_end();
  const json line = only_line();
  expect_refused(line, 403, "client_denied");
  EXPECT_TRUE(line.value("inbound_remote_addr", "").starts_with("127.0.0.1:")) << line;
  EXPECT_NE(field_of(head, "Proxy-Status").find("decision " + line.value("id", "?")), std::string::npos) << head;
}

TEST_F(RefusalLog, AStrangerBehindABalancerHasOneToo) {
  given.settings.listeners.front().proxy_protocol = {"127.0.0.0/8"};
  given.settings.access.clients = {"10.0.0.0/8"};
  EXPECT_EQ(status_of(reply_to("PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\n" + get("ok.test"))), 403);
  const json line = only_line();
  expect_refused(line, 403, "client_denied");
  EXPECT_EQ(line.value("inbound_remote_addr", ""), "203.0.113.9:4711");
}

TEST_F(RefusalLog, WhoeverIsNoBalancerHasOneToo) {
  given.settings.listeners.front().proxy_protocol = {"192.0.2.0/24"};
  new_client().expect_end();
  expect_refused(only_line(), 0, "client_denied");
}

TEST_F(RefusalLog, AClientForWhomThereIsNoRoomHasALine) {
  given.settings.limits.connections_per_client = 1;
  auto busy = exchange();
  EXPECT_EQ(status_of(reply_to(get("ok.test"))), 503);
  const auto all = lines();
  ASSERT_EQ(all.size(), 1U);
  expect_refused(all.front(), 503, "connection_limit");
}

// Whether it is known by then what is asked for, or not.
TEST_F(RefusalLog, ARequestForWhichThereIsNoMemoryHasALine) {
  given.settings.limits.buffer_memory = 16'384;
  const std::string whole = get("ok.test", "/", "X: " + std::string(30'000, 'h') + "\r\n");
  for (const std::string& text : {whole, whole.substr(0, 20'000)}) {
    EXPECT_EQ(status_of(reply_to(text)), 503);
    wait_for_counter(&Counters::client_connections_active, 0);
    expect_refused(lines().back(), 503, "connection_limit");
    EXPECT_EQ(lines().back().value("error_detail", ""), "limits.buffer_memory");
  }
  EXPECT_EQ(lines().size(), 2U);
  EXPECT_EQ(judged(proxy::MethodClass::get, Decision::allowed), 0U);
  EXPECT_EQ(errors(ErrorKind::connection_limit), 2U);
}

TEST_F(RefusalLog, ARequestWhoseAnswerFindsNoMemoryHasALine) {
  given.settings.limits.buffer_memory = 16'384;
  {
    auto [client, server, asked] = exchange();
    server.send("HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'h'));
    EXPECT_EQ(status_of(client.read_head()), 503);
  }
  expect_refused(only_line(), 503, "connection_limit");
}

TEST_F(RefusalLog, AFloodOfStrangersDoesNotFillTheDisk) {
  given.settings.access.clients = {"10.0.0.0/8"};
  for (int i = 0; i < 300; ++i) new_client().read_to_end();
  EXPECT_EQ(errors(ErrorKind::client_denied), 300U);
  EXPECT_LE(lines().size(), 200U) << "a hundred a second";
}

TEST_F(RefusalLog, ADeniedDestinationIsCountedAsAnErrorAlone) {
  given.settings.access.deny_destinations = {"127.0.0.66"};
  EXPECT_EQ(status_of(reply_to(get("127.0.0.66:81"))), 403);
  expect_refused(only_line(), 403, "destination_denied");
  EXPECT_EQ(judged(proxy::MethodClass::get, Decision::allowed), 0U);
}

TEST_F(RefusalLog, ARequestInATunnelThatNamesNoHostIsForTheTunnels) {
  {
    auto open = tunnel("mixed.test");
    open.client.send("GET /bad/x HTTP/1.0\r\n\r\n");
    EXPECT_EQ(status_of(open.client.read_head()), 403);
    open.client.read_to_end();
  }
  wait_for_counter(&Counters::client_connections_active, 0);
  const json line = lines().back();
  EXPECT_EQ(line.value("url", ""), "http://" + at("mixed.test") + "/bad/x") << line;
}

}  // namespace
}  // namespace bloomwall::test
