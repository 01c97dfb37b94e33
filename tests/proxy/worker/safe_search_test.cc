// Safe search in the running proxy: whom a request for a search engine goes to, and what leads past it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using proxy::ErrorKind;
using proxy::http_test::client_hello;
using proxy::http_test::server_name;

// 127.0.0.2 is in the group of pupils. The engine's own name leads to `origin`, the enforcing one to `safe`.
class SafeSearchInUse : public ProxyTest {
 protected:
  SafeSearchInUse() {
    given.settings.safe_search_map = dir.write("map.txt", "find safe.find.test www.find.test\n");
    given.settings.dns.hosts["www.find.test"] = "127.0.0.1";
    given.settings.dns.hosts["safe.find.test"] = "127.0.0.9";
    given.logged = true;
    ask_for({"find"});
  }
  void ask_for(const std::vector<std::string>& engines) {
    conf::Group pupils;
    pupils.name = "pupils";
    pupils.clients = {"127.0.0.2"};
    pupils.safe_search = engines;
    given.settings.groups = {pupils};
  }
  std::string at_safe(const std::string& host) const { return host + ":" + std::to_string(safe.port()); }
  ScriptedPeer client_from(const std::string& ip, const std::string& text) {
    auto client = ScriptedPeer::connect_from(ip, the_proxy().addresses().front().port());
    client.send(text);
    return client;
  }
  Tunnel tunnel_to(ScriptedListener& listener, const std::string& authority, const std::string& ip = "127.0.0.2") {
    auto client = client_from(ip, connect_to(authority));
    auto server = listener.accept();
    EXPECT_EQ(status_of(client.read_head()), 200);
    return {std::move(client), std::move(server)};
  }
  static void expect_cut(Tunnel& open) {
    open.client.expect_end();
    open.server.expect_end();  // and nothing came before it
  }
  std::uint64_t counted() { return counters()->safe_search.get("find"); }
  ScriptedListener safe{"127.0.0.9"};
};

TEST_F(SafeSearchInUse, ARequestGoesToTheEnforcingNameAndKeepsItsHost) {
  auto client = client_from("127.0.0.2", get(at_safe("www.find.test"), "/?q=a"));
  auto server = safe.accept();
  const std::string head = server.read_head();
  EXPECT_EQ(field_of(head, "Host"), at_safe("www.find.test"));
  EXPECT_TRUE(head.starts_with("GET /?q=a HTTP/1.1\r\n")) << head;
  answer(server, client, "x");
  EXPECT_EQ(counted(), 1U);
  wait_until([&] { return !log_text().empty(); });
  const auto line = nlohmann::json::parse(log_text());
  EXPECT_EQ(line.at("requested_host"), "www.find.test");
  EXPECT_EQ(line.at("dialled_as"), "safe.find.test");
}

TEST_F(SafeSearchInUse, ATunnelDoesAndItsServerNameStays) {
  auto open = tunnel_to(safe, at_safe("www.find.test"));
  const std::string hello = client_hello(server_name("www.find.test"));
  open.client.send(hello);
  open.server.expect(hello);
  open.server.send("and back");
  open.client.expect("and back");
  EXPECT_EQ(counted(), 1U);
}

TEST_F(SafeSearchInUse, IsOfItsGroupAndOfItsHostsAlone) {
  auto client = client_from("127.0.0.1", get(at("www.find.test")));
  auto server = origin.accept();
  server.read_head();
  answer(server, client, "x");
  client = client_from("127.0.0.2", get(at("ok.test")));
  auto other = origin.accept();
  other.read_head();
  answer(other, client, "x");
  tunnel_to(origin, at("www.find.test"), "127.0.0.1").client.send("x");
  EXPECT_EQ(counted(), 0U);
}

TEST_F(SafeSearchInUse, TheHostIsJudgedAsItWasAsked) {
  given.list = "find.test\n";
  given.allowed = "safe.find.test\n";
  EXPECT_EQ(status_of(client_from("127.0.0.2", get(at_safe("www.find.test"))).read_head()), 403);
  EXPECT_EQ(status_of(client_from("127.0.0.2", connect_to(at_safe("www.find.test"))).read_head()), 403);
  EXPECT_EQ(counted(), 0U);
}

// 127.0.0.9 is the far end of both, under one port.
TEST_F(SafeSearchInUse, ConnectionsAreSharedOnlyWhereTheyWereDialledAlike) {
  given.settings.dns.hosts["www.find.test"] = "127.0.0.9";
  auto first = client_from("127.0.0.2", get(at_safe("www.find.test")));
  auto server = safe.accept();
  server.read_head();
  answer(server, first, "x");
  rest(server);
  auto other = client_from("127.0.0.1", get(at_safe("www.find.test")));
  auto second = safe.accept();
  second.read_head();
  answer(second, other, "x");
  auto again = client_from("127.0.0.2", get(at_safe("www.find.test"), "/again"));
  EXPECT_TRUE(server.read_head().starts_with("GET /again ")) << "the first connection is used again";
  answer(server, again, "x");
}

TEST_F(SafeSearchInUse, ATunnelToAnotherHostIsCutWhereItsServerNameIsTheEngines) {
  auto elsewhere = tunnel_to(origin, at("ok.test"));
  elsewhere.client.send(client_hello(server_name("www.find.test")));
  expect_cut(elsewhere);
  auto by_address = tunnel_to(origin, origin.authority());
  by_address.client.send(client_hello(server_name("WWW.find.test")));
  expect_cut(by_address);
  EXPECT_EQ(errors(ErrorKind::tunnel_denied), 2U);
  EXPECT_NE(log_text().find("groups[].safe_search"), std::string::npos) << log_text();
  auto free = tunnel_to(origin, at("ok.test"), "127.0.0.1");
  const std::string hello = client_hello(server_name("www.find.test"));
  free.client.send(hello);
  free.server.expect(hello);
  auto by_name = tunnel_to(safe, at_safe("safe.find.test"));
  by_name.client.send(hello);
  by_name.server.expect(hello);
}

TEST_F(SafeSearchInUse, ARequestInATunnelToAnotherHostIsRefused) {
  auto open = tunnel_to(origin, at("ok.test"));
  open.client.send(inner("www.find.test"));
  EXPECT_EQ(status_of(open.client.read_head()), 421);
  auto own = tunnel_to(safe, at_safe("www.find.test"));
  own.client.send(inner("www.find.test"));
  EXPECT_EQ(field_of(own.server.read_head(), "Host"), "www.find.test");
}

TEST_F(SafeSearchInUse, AParentIsAskedForTheEnforcingName) {
  given.settings.upstream.parent = origin.authority();
  auto client = client_from("127.0.0.2", get("www.find.test", "/?q=a"));
  auto server = origin.accept();
  const std::string head = server.read_head();
  EXPECT_TRUE(head.starts_with("GET http://safe.find.test/?q=a HTTP/1.1\r\nHost: safe.find.test\r\n")) << head;
  answer(server, client, "x");
  client = client_from("127.0.0.2", connect_to("www.find.test:443"));
  EXPECT_TRUE(origin.accept().read_head().starts_with("CONNECT safe.find.test:443 HTTP/1.1\r\n"));
  client = client_from("127.0.0.1", connect_to("www.find.test:443"));
  EXPECT_TRUE(origin.accept().read_head().starts_with("CONNECT www.find.test:443 HTTP/1.1\r\n"));
}

TEST_F(SafeSearchInUse, TheEnforcingNameMustBeOneThatMayBeDialled) {
  given.settings.access.deny_destinations = {"127.0.0.9"};
  EXPECT_EQ(status_of(client_from("127.0.0.2", get(at_safe("www.find.test"))).read_head()), 403);
  EXPECT_EQ(errors(ErrorKind::destination_denied), 1U);
}

TEST_F(SafeSearchInUse, AReloadThatAsksForItEndsOpenTunnels) {
  ask_for({});
  auto by_host = tunnel_to(origin, at("www.find.test")), other = tunnel_to(origin, at("ok.test"));
  auto by_name = tunnel_to(origin, at("mixed.test"));
  const std::string hello = client_hello(server_name("www.find.test"));
  by_name.client.send(hello);
  by_name.server.expect(hello);
  ask_for({"find"});
  reload();
  expect_cut(by_host);
  expect_cut(by_name);
  other.server.send("still here");
  other.client.expect("still here");
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 2U);
  auto safe_one = tunnel_to(safe, at_safe("www.find.test"));
  reload();
  safe_one.server.send("still here");
  safe_one.client.expect("still here");
}

}  // namespace
}  // namespace bloomwall::test
