// Networks in filters are asked about the address that is dialled, or was: whatever name leads there, on connections
// that are there already, and again after a reload. Allow entries for the host, the URL or the address free it; a
// parent is exempt.
// SPDX-License-Identifier: Apache-2.0
#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/support/scripted_dns.h"

namespace bloomwall::test {
namespace {

constexpr const char* kNetworks = "127.0.0.2-127.0.0.9\n192.0.2.0/24\n::/127\n";  // not 127.0.0.1
constexpr const char* kOriginsNetwork = "127.0.0.0/30\n";

class DialledAddress : public ProxyTest {
 protected:
  void SetUp() override {
    given.list = "listed.example\n";
    given.networks = kNetworks;
    given.logged = true;
    given.settings.dns.hosts["inside.test"] = "127.0.0.5";
    given.settings.dns.hosts["six.test"] = "::1";
  }
  // Of a denial, which has a page of the proxy's and no Proxy-Status of a failure.
  void expect_denied(const std::string& text) {
    const std::string head = reply_to(text);
    EXPECT_EQ(status_of(head), 403) << text << head;
    EXPECT_NE(field_of(head, "Proxy-Status").find("http_request_denied"), std::string::npos) << text << head;
  }
  void block(const std::string& networks, const std::string& allowed = "") {
    given.networks = networks;
    given.allowed = allowed;
    reload();
  }
  std::uint64_t decided(filter::Decision decision) {
    const auto all = counters();
    std::uint64_t sum = 0;
    for (const auto& method : all->requests) {
      for (const auto& reason : method[static_cast<std::size_t>(decision)]) sum += reason.get();
    }
    return sum;
  }
  bool logs(const std::string& text) { return log_text().find(text) != std::string::npos; }
};

TEST_F(DialledAddress, OfALiteralOrOfANameIsJudged) {
  ScriptedListener listed("127.0.0.5");
  const std::string port = ":" + std::to_string(listed.port());
  for (const std::string host : {"inside.test", "127.0.0.5", "0x7f.5", "[::ffff:127.0.0.5]", "six.test", "[::1]"}) {
    expect_denied(get(host + port));
    expect_denied(connect_to(host + port));
  }
  EXPECT_TRUE(listed.nobody_comes_for(std::chrono::milliseconds(10)));
  EXPECT_EQ(counter(&Counters::upstream_connections_total), 0U);
  EXPECT_EQ(decided(filter::Decision::blocked), 12U);
  EXPECT_EQ(decided(filter::Decision::allowed), 0U) << "each counts once";
  expect_alive();
}

TEST_F(DialledAddress, ThatIsDeniedIsLoggedLikeAnyBlockedRequest) {
  expect_denied(get("inside.test", "/x"));
  expect_alive();
  const std::string log = log_text();
  for (const char* field : {"\"decision\":\"blocked\"", "\"decision_reason\":\"listed\"", "\"filter\":\"testlist\"",
                            "\"expression\":\"127.0.0.2-127.0.0.9\"", "\"status\":403",
                            "\"requested_host\":\"inside.test\"", "\"url\":\"http://inside.test/x\"", "\"id\":\""}) {
    EXPECT_NE(log.find(field), std::string::npos) << field << "\n" << log;
  }
  EXPECT_EQ(log.find("\"error\""), std::string::npos) << log;
  EXPECT_EQ(log.substr(0, log.find('\n')).find("outbound_remote_addr"), std::string::npos)
      << "nobody was asked: " << log;
}

// The connection of a client is good for its next request.
TEST_F(DialledAddress, ThatIsDeniedKeepsTheClient) {
  auto client = new_client(get("inside.test"));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  client.send(request("POST", "inside.test", "/", length_field(4), "body"));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  client.send(get(at("ok.test")));
  auto server = origin.accept();
  server.read_head();
  answer(server, client, "fine");
}

TEST_F(DialledAddress, AnotherOneOfTheNameIsTaken) {
  ScriptedDns dns;
  given.settings.dns.servers = {dns.address()};
  dns.set("both.test", {.v4 = {"127.0.0.5", "127.0.0.1"}, .v6 = {"::1"}});
  dns.set("listed.test", {.v4 = {"127.0.0.5", "127.0.0.6"}, .v6 = {"::1"}});
  auto [client, server, asked] = exchange(get(at("both.test")));
  answer(server, client, "fine");
  EXPECT_EQ(decided(filter::Decision::blocked), 0U);
  EXPECT_EQ(decided(filter::Decision::allowed), 1U);
  expect_denied(get(at("listed.test")));
  const std::string port = ":" + std::to_string(closed_port());
  EXPECT_EQ(status_of(reply_to(get("both.test" + port))), 502) << "the one that was dialled failed";
  EXPECT_EQ(status_of(reply_to(get("nowhere.test" + port))), 502);
}

TEST_F(DialledAddress, IsFreedByAllowEntries) {
  ScriptedListener listed("127.0.0.5");
  const std::string at_listed = "inside.test:" + std::to_string(listed.port());
  for (const char* allowed : {"inside.test\n", "inside.test @testlist\n", "127.0.0.4/31\n", "127.0.0.5-127.0.0.6\n",
                              "http://inside.test/free/\n"}) {
    block(kNetworks, allowed);
    auto client = new_client(get(at_listed, "/free/x"));
    auto server = listed.accept();
    server.read_head();
    answer(server, client, "fine");
  }
  expect_denied(get(at_listed, "/other"));
  expect_denied(connect_to(at_listed));
  block(kNetworks, "other.test\n127.0.0.6-127.0.0.9\n");
  expect_denied(get(at_listed));
}

TEST_F(DialledAddress, ThatIsMonitoredIsDialledAndSaidSo) {
  ScriptedListener listed("127.0.0.5");
  given.action = filter::FilterAction::monitor;
  auto client = new_client(get("inside.test:" + std::to_string(listed.port())));
  auto server = listed.accept();
  server.read_head();
  answer(server, client, "fine");
  auto tunnelled = new_client(connect_to("inside.test:" + std::to_string(listed.port())));
  auto far = listed.accept();
  EXPECT_EQ(status_of(tunnelled.read_head()), 200);
  tunnelled.close();
  far.expect_end();
  far.close();  // a tunnel in which nothing was said is counted at its end
  wait_for_counter(&Counters::tunnels_active, 0);
  EXPECT_EQ(decided(filter::Decision::monitored), 2U);
  EXPECT_EQ(decided(filter::Decision::allowed), 0U);
  EXPECT_TRUE(logs("\"decision\":\"monitored\"")) << log_text();
  EXPECT_TRUE(logs("\"expression\":\"127.0.0.2-127.0.0.9\"")) << log_text();
}

// An IPv4 address behind a prefix is where the packets go, as for access.deny_destinations.
TEST_F(DialledAddress, MayCarryAnother) {
  given.settings.dns.nat64_prefixes = {"2001:db8:64::/96"};
  given.settings.dns.hosts["carried.test"] = "2001:db8:64::c000:205";
  given.settings.dns.hosts["known.test"] = "64:ff9b::c000:205";
  for (const char* host : {"carried.test", "[2001:db8:64::c000:205]", "known.test", "[64:ff9b::192.0.2.5]"}) {
    expect_denied(get(host));
    expect_denied(connect_to(std::string(host) + ":443"));
  }
  EXPECT_TRUE(logs("\"expression\":\"192.0.2.0/24\"")) << log_text();
}

TEST_F(DialledAddress, MayCarryAnotherWhereAParentIsAskedForIt) {
  given.settings.upstream.parent = origin.authority();
  given.settings.dns.nat64_prefixes = {"2001:db8:64::/96"};
  for (const char* host : {"[2001:db8:64::c000:205]", "[64:ff9b::192.0.2.5]"}) {
    expect_denied(get(host));
    expect_denied(connect_to(std::string(host) + ":443"));
  }
  EXPECT_TRUE(exchange(get("[2001:db8:64::c633:6405]")).asked.starts_with("GET http://[2001:db8:64::c633:6405]/ "));
  EXPECT_EQ(decided(filter::Decision::blocked), 4U);
}

TEST_F(DialledAddress, OfAConnectionThatIsKeptIsJudgedAgain) {
  auto [client, server, asked] = exchange(get(at("ok.test"), "/1"));
  answer(server, client, "one");
  rest(server);
  block(kOriginsNetwork);
  client.send(get(at("ok.test"), "/2"));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  server.expect_end();
  block(kNetworks);
  client.send(get(at("ok.test"), "/3"));
  auto again = origin.accept();
  EXPECT_TRUE(again.read_head().starts_with("GET /3 "));
  answer(again, client, "three");
  rest(again);
  block(kOriginsNetwork, "ok.test\n");
  client.send(get(at("ok.test"), "/4"));
  EXPECT_TRUE(again.read_head().starts_with("GET /4 ")) << "an allow entry frees it, and the connection is kept";
  answer(again, client, "four");
}

TEST_F(DialledAddress, OfARequestThatIsSentAgainIsJudgedAgainButCountedOnce) {
  auto [client, server, asked] = exchange(get(at("ok.test"), "/1"));
  answer(server, client, "one");
  rest(server);
  client.send(get(at("ok.test"), "/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 "));
  block(kOriginsNetwork);
  server.close();
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  EXPECT_EQ(decided(filter::Decision::allowed), 2U);
  EXPECT_EQ(decided(filter::Decision::blocked), 0U);
  EXPECT_EQ(counters()->filters.get("testlist", filter::FilterAction::block), 1U);
  client.close();
  wait_for_counter(&Counters::client_connections_active, 0);  // by then its line is written
  EXPECT_TRUE(logs("\"decision\":\"blocked\"")) << log_text();
}

TEST_F(DialledAddress, OfAnOpenTunnelIsJudgedAgain) {
  auto open = tunnel("ok.test"), allowed = tunnel("mixed.test");
  block("198.51.100.0/24\n");
  open.server.send("still here");
  open.client.expect("still here");
  block(kOriginsNetwork, "mixed.test\n");
  open.client.expect_end();
  open.server.expect_end();
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 1U);
  allowed.server.send("still here");
  allowed.client.expect("still here");
  EXPECT_TRUE(logs("a reload has blocked the address")) << log_text();
  EXPECT_TRUE(logs("\"expression\":\"127.0.0.0/30\"")) << log_text();
}

TEST_F(DialledAddress, OfAWebSocketIsJudgedAgainByItsUrl) {
  const std::string upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  auto open = exchange(get(at("ok.test"), "/socket", upgrade));
  open.server.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(status_of(open.client.read_head()), 101);
  block(kOriginsNetwork, "http://ok.test/socket\n");
  open.server.send("still here");
  open.client.expect("still here");
  block(kOriginsNetwork, "http://ok.test/other\n");
  open.client.expect_end();
  open.server.expect_end();
}

TEST_F(DialledAddress, IsJudgedWithEachRequestInsideATunnel) {
  auto open = tunnel("ok.test"), allowed = tunnel("mixed.test");
  for (Tunnel* one : {&open, &allowed}) {
    one->client.send(inner("mixed.test", "/1"));
    EXPECT_TRUE(one->server.read_head().starts_with("GET /1 "));
    answer(one->server, one->client, "one");
  }
  block(kOriginsNetwork, "mixed.test\n");
  open.client.send(inner("mixed.test", "/2"));
  EXPECT_EQ(status_of(read_answer(open.client).head), 403) << "the tunnel's own host has no such pass";
  open.client.expect_end();
  open.server.expect_end();
  allowed.client.send(inner("mixed.test", "/2"));
  EXPECT_TRUE(allowed.server.read_head().starts_with("GET /2 "));
  answer(allowed.server, allowed.client, "two");
}

// What the parent makes of a name nobody here knows; its own address is the operator's choice.
TEST_F(DialledAddress, OfAParentIsNotJudged) {
  given.settings.upstream.parent = origin.authority();
  given.settings.upstream.bypass = {"six.test"};
  given.networks = std::string(kOriginsNetwork) + kNetworks;
  EXPECT_TRUE(exchange(get("inside.test", "/via")).asked.starts_with("GET http://inside.test/via "));
  expect_denied(get("127.0.0.5"));
  expect_denied(connect_to("[::ffff:127.0.0.5]:443"));
  expect_denied(get("six.test"));
  auto client = new_client(connect_to("inside.test:80"));
  auto up = origin.accept();
  up.read_head();
  up.send("HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 200);
  given.networks += "198.51.100.0/24\n";
  reload();
  client.send(inner("inside.test", "/inside"));
  EXPECT_TRUE(up.read_head().starts_with("GET /inside "));
  answer(up, client, "inside");
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 0U);
}

}  // namespace
}  // namespace bloomwall::test
