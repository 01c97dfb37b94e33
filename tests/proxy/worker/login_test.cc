// Clients that must log in: 407, credentials that go no further, locks, exemptions, tunnels and their users.
// SPDX-License-Identifier: Apache-2.0
#include <ctime>
#include <string>

#include "tests/proxy/auth/hashes.h"
#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using proxy::ErrorKind;
using proxy::http_test::client_hello;
using proxy::http_test::server_name;

// "alice:open sesame" and the like.
const std::string kAlice = "Proxy-Authorization: Basic YWxpY2U6b3BlbiBzZXNhbWU=\r\n";
const std::string kBob = "Proxy-Authorization: Basic Ym9iOm9wZW4gc2VzYW1l\r\n";
const std::string kWrong = "Proxy-Authorization: Basic YWxpY2U6eA==\r\n";

class LoginTest : public ProxyTest {
 protected:
  LoginTest() {
    given.settings.authentication.require = {"127.0.0.0/8"};
    set_users(user_line("alice", ":staff") + user_line("bob"));
    given.logged = true;
  }
  void set_users(const std::string& text) { given.settings.authentication.users_file = dir.write("users", text); }
  std::string get_as(const std::string& credentials, const std::string& path = "/") const {
    return get_origin(path, credentials);
  }
  Tunnel tunnel_as(const std::string& credentials, const std::string& host = "ok.test") {
    auto client = new_client(connect_to(at(host), credentials));
    auto server = origin.accept();
    EXPECT_EQ(status_of(client.read_head()), 200);
    return {std::move(client), std::move(server)};
  }
};

TEST_F(LoginTest, WithoutCredentialsGets407AndKeepsItsConnection) {
  given.settings.authentication.realm = "the office";
  given.settings.block_page.contact = "help@example.com";
  auto client = new_client(get_origin("/", "Accept: application/json\r\n"));
  const Answer first = read_answer(client);
  EXPECT_EQ(status_of(first.head), 407) << first.head;
  EXPECT_EQ(field_of(first.head, "Proxy-Authenticate"), "Basic realm=\"the office\", charset=\"UTF-8\"");
  EXPECT_EQ(field_of(first.head, "Cache-Control"), "no-store");
  EXPECT_EQ(field_of(first.head, "WWW-Authenticate"), "");
  EXPECT_NE(first.body.find("\"contact\":\"help@example.com\""), std::string::npos) << first.body;
  client.send(connect_to(at("127.0.0.1")));
  const Answer second = read_answer(client);
  EXPECT_EQ(status_of(second.head), 407) << "to CONNECT, on the same connection";
  EXPECT_LT(second.body.size(), 200U);
  client.send(post_origin(length_field(5), "hello"));
  EXPECT_EQ(status_of(read_answer(client).head), 407);
  client.send(get_as(kAlice));
  auto server = origin.accept();
  server.read_head();
  answer(server, client, "welcome");
  EXPECT_EQ(errors(ErrorKind::login_required), 3U);
  EXPECT_EQ(counter(&Counters::logins_checked_total), 1U);
}

TEST_F(LoginTest, CredentialsReachNoOriginAndNoLog) {
  auto [client, server, asked] = exchange(get_as(kAlice));
  EXPECT_EQ(asked.find("Proxy-Authorization"), std::string::npos) << asked;
  answer(server, client, "x");
  wait_until([&] { return log_text().find("\"user\":\"alice\"") != std::string::npos; });
  EXPECT_EQ(log_text().find("YWxpY2U6"), std::string::npos);
  EXPECT_EQ(log_text().find("sesame"), std::string::npos);
}

TEST_F(LoginTest, IsCheckedOnceAndRemembered) {
  auto [client, server, asked] = exchange(get_as(kAlice));
  answer(server, client, "1");
  for (int i = 0; i < 5; ++i) {
    rest(server);
    client.send(get_as(kAlice));
    server.read_head();
    answer(server, client, "2");
  }
  EXPECT_EQ(counter(&Counters::logins_checked_total), 1U);
  EXPECT_EQ(counter(&Counters::logins_remembered_total), 5U);
  client.send(get_origin());
  EXPECT_EQ(status_of(read_answer(client).head), 407) << "each request is authenticated on its own";
}

TEST_F(LoginTest, WithWrongCredentialsGets407AndThen429) {
  given.settings.authentication.attempts = 3;
  given.settings.authentication.lock = 60s;
  auto client = new_client();
  for (const std::string& credentials : {kWrong, kWrong, kAlice + kAlice}) {
    client.send(get_as(credentials));
    EXPECT_EQ(status_of(read_answer(client).head), 407) << credentials;
  }
  client.send(get_as(kAlice));
  const std::string head = read_answer(client).head;
  EXPECT_EQ(status_of(head), 429) << head;
  EXPECT_GE(std::stoi(field_of(head, "Retry-After")), 55) << head;
  EXPECT_EQ(field_of(head, "Proxy-Authenticate"), "");
  EXPECT_EQ(counter(&Counters::logins_refused_total), 3U);
  EXPECT_EQ(errors(ErrorKind::login_locked), 1U);
}

TEST_F(LoginTest, OfAnotherSchemeIsNone) {
  auto client = new_client();
  for (const char* credentials : {"Proxy-Authorization: Digest username=\"alice\"\r\n",
                                  "Authorization: Basic YWxpY2U6b3BlbiBzZXNhbWU=\r\n", "Proxy-Authorization:\r\n"}) {
    client.send(get_as(credentials));
    EXPECT_EQ(status_of(read_answer(client).head), 407) << credentials;
  }
  EXPECT_EQ(counter(&Counters::logins_refused_total), 0U);
}

TEST_F(LoginTest, ClientsThatAreNotNamedNeedNone) {
  given.settings.authentication.require = {"10.0.0.0/8"};
  auto [client, server, asked] = exchange(get_as(kWrong));
  EXPECT_EQ(asked.find("Proxy-Authorization"), std::string::npos);
  answer(server, client, "x");
}

TEST_F(LoginTest, CanBeKeptToListenersWithTls) {
  given.settings.authentication.basic_without_tls = false;
  const std::string head = reply_to(get_as(kAlice));
  EXPECT_EQ(status_of(head), 403) << head;
  EXPECT_NE(field_of(head, "Proxy-Status").find("basic_without_tls"), std::string::npos) << head;
}

TEST_F(LoginTest, ABlockedRequestIsA403AndNot407) {
  given.list = "blocked.test\n";
  EXPECT_EQ(status_of(reply_to(get(at("blocked.test"), "/", kAlice))), 403);
  EXPECT_EQ(status_of(reply_to(get(at("blocked.test")))), 407) << "what is listed is not told to strangers";
}

TEST_F(LoginTest, ARequestForTheProxyItselfNeedsNone) {
  EXPECT_EQ(status_of(reply_to("GET / HTTP/1.1\r\nHost: x\r\n\r\n")), 421);
}

TEST_F(LoginTest, BodyOfARefusedRequestIsNoRequest) {
  const std::string inside = get_as(kAlice, "/smuggled");
  auto client = new_client(post_origin(length_field(inside.size()), inside));
  EXPECT_EQ(status_of(read_answer(client).head), 407);
  client.send(get_as(kAlice, "/next"));
  auto server = origin.accept();
  EXPECT_TRUE(server.read_head().starts_with("GET /next ")) << "and nothing before it";
  answer(server, client, "x");
}

TEST_F(LoginTest, ABodyWaitsForTheCheck) {
  auto [client, server, asked] = exchange(post_origin(length_field(5) + kAlice, "hello"));
  server.expect("hello");
  answer(server, client, "x");
}

TEST_F(LoginTest, AClientThatLeavesDuringTheCheckDoesNoHarm) {
  set_users(user_line("alice", "", kYescryptUsual));
  for (int i = 0; i < 5; ++i) new_client(get_as(kWrong));
  auto [client, server, asked] = exchange(get_as(kAlice));
  answer(server, client, "x");
}

TEST_F(LoginTest, ExemptHostsNeedNone) {
  given.settings.authentication.exempt_hosts = {"ok.test"};
  auto [client, server, asked] = exchange(get(at("OK.test")));
  answer(server, client, "x");
  rest(server);
  client.send(get(at("ok.test"), "/", kWrong));
  server.read_head();
  answer(server, client, "y");
  client.send(get(at("mixed.test")));
  EXPECT_EQ(status_of(read_answer(client).head), 407);
  EXPECT_EQ(counter(&Counters::logins_checked_total), 0U);
}

TEST_F(LoginTest, TheUserOfATunnelIsThatOfItsConnect) {
  auto [client, server] = tunnel_as(kAlice);
  client.send(inner(at("ok.test")));
  EXPECT_EQ(server.read_head().find("Proxy-Authorization"), std::string::npos);
  answer(server, client, "x");
  wait_until([&] { return log_text().find("http_in_tunnel") != std::string::npos; });
  const std::string log = log_text();
  EXPECT_NE(log.find("\"user\":\"alice\"", log.find("\"user\":\"alice\"") + 1), std::string::npos) << log;
}

TEST_F(LoginTest, ATunnelToAnExemptHostLeadsToNoOther) {
  given.settings.authentication.exempt_hosts = {"ok.test"};
  {
    auto [client, server] = tunnel("ok.test");
    client.send(inner(at("mixed.test")));
    EXPECT_EQ(status_of(read_answer(client).head), 403);
  }
  auto [client, server] = tunnel("ok.test");
  client.send(client_hello(server_name("mixed.test")));
  client.expect_end();
  server.expect_end();
  EXPECT_EQ(errors(ErrorKind::tunnel_denied), 2U);
}

TEST_F(LoginTest, OfAUserWhoWasRemovedEndsWithTheReload) {
  auto [client, server, asked] = exchange(get_as(kBob));
  answer(server, client, "x");
  auto ending = tunnel_as(kBob), other = tunnel_as(kAlice);
  set_users(user_line("alice"));
  reload();
  client.send(get_as(kBob));
  EXPECT_EQ(status_of(read_answer(client).head), 407) << "on a kept connection, too";
  ending.client.expect_end();
  other.server.send("still here");
  other.client.expect("still here");
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 1U);
}

TEST_F(LoginTest, TunnelsOfBeforeEndWhenLoginsAreRequired) {
  given.settings.authentication.require = {};
  auto [client, server] = tunnel("ok.test");
  auto [exempt, exempt_server] = tunnel("mixed.test");
  given.settings.authentication.require = {"127.0.0.0/8"};
  given.settings.authentication.exempt_hosts = {"mixed.test"};
  reload();
  client.expect_end();
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 1U);
  exempt_server.send("still here");
  exempt.expect("still here");
}

TEST_F(LoginTest, ATokenIsAPasswordOrStandsAlone) {
  const std::string token = "bw_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  const std::string bearer = "Proxy-Authorization: Bearer " + token + "\r\n";
  const std::string basic = "Proxy-Authorization: Basic Y2k6YndfYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=\r\n";
  const auto keep = [this](std::vector<proxy::Token> all) {
    tokens.set(std::make_shared<const proxy::TokenTable>(std::move(all)));
  };
  keep({{.name = "ci", .groups = {"build"}, .digest = proxy::digest_of(token)}});
  auto [client, server, asked] = exchange(get_as(bearer));
  EXPECT_EQ(asked.find("Proxy-Authorization"), std::string::npos) << asked;
  answer(server, client, "x");
  rest(server);
  client.send(get_as(basic));
  EXPECT_EQ(server.read_head().find("Proxy-Authorization"), std::string::npos);
  answer(server, client, "y");
  auto tunnel = tunnel_as(bearer);
  keep({});
  for (const std::string& credentials : {bearer, basic}) {
    client.send(get_as(credentials));
    EXPECT_EQ(status_of(read_answer(client).head), 407) << "removed, and refused on the kept connection";
  }
  reload();
  tunnel.client.expect_end();
  wait_until([&] { return log_text().find("\"user\":\"ci\"") != std::string::npos; });
  EXPECT_EQ(log_text().find(token), std::string::npos);
}

// Nothing is reloaded.
TEST_F(LoginTest, ATunnelEndsWithTheTimeOfItsUser) {
  const auto text_of = [](char digit) { return "bw_" + std::string(32, digit); };
  const auto bearer = [&](char digit) { return "Proxy-Authorization: Bearer " + text_of(digit) + "\r\n"; };
  const std::int64_t now = std::time(nullptr);
  tokens.set(std::make_shared<const proxy::TokenTable>(
      std::vector<proxy::Token>{{.name = "brief", .until = now + 3, .digest = proxy::digest_of(text_of('a'))},
                                {.name = "long", .until = now + 3600, .digest = proxy::digest_of(text_of('b'))}}));
  auto ending = tunnel_as(bearer('a')), other = tunnel_as(bearer('b'));
  auto busy = tunnel_as(bearer('a'));
  busy.client.send("SSH-2.0-x\r\n");
  busy.server.expect("SSH-2.0-x\r\n");
  ending.client.expect_end();
  ending.server.expect_end();
  busy.client.expect_end();
  EXPECT_GE(std::time(nullptr), now + 3);
  other.server.send("still here");
  other.client.expect("still here");
  EXPECT_EQ(errors(ErrorKind::tunnel_denied), 2U);
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 0U);
}

// What was let in is a request, and its answer is finished, as after any change; the next request is another one. Only
// tunnels, which have no end of their own, are cut.
TEST_F(LoginTest, AnAnswerUnderWayIsFinishedWhenItsUserEnds) {
  const std::string token = "bw_" + std::string(32, 'a');
  const std::string bearer = "Proxy-Authorization: Bearer " + token + "\r\n";
  tokens.set(std::make_shared<const proxy::TokenTable>(
      std::vector<proxy::Token>{{.name = "ci", .digest = proxy::digest_of(token)}}));
  the_proxy();
  for (const std::string& credentials : {bearer, kBob}) {
    set_users(user_line("alice") + user_line("bob"));
    reload();
    auto [client, server, asked] = exchange(get_as(credentials));
    auto [uploader, upload_server, upload] = exchange(post_origin(length_field(10) + credentials, "hello"));
    server.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst");
    EXPECT_EQ(status_of(client.read_head()), 200);
    client.expect("first");
    tokens.set(std::make_shared<const proxy::TokenTable>(std::vector<proxy::Token>()));
    set_users(user_line("alice"));
    reload();
    server.send("later");
    client.expect("later");
    client.send(get_as(credentials));
    EXPECT_EQ(status_of(read_answer(client).head), 407) << credentials;
    uploader.send("world");
    upload_server.expect("helloworld");
    answer(upload_server, uploader, "stored");
    uploader.send(get_as(credentials));
    EXPECT_EQ(status_of(read_answer(uploader).head), 407) << credentials;
  }
}

// One connection, and whoever's request it is.
TEST_F(LoginTest, GroupsFollowTheUserOfEachRequest) {
  given.list = "blocked.test\n";
  auto& groups = given.settings.groups;
  groups.resize(2);
  groups[0].name = "office";
  groups[0].user_groups = {"staff"};
  groups[0].filters["testlist"].otherwise = conf::Group::Action::off;
  groups[1].name = "exam";
  groups[1].users = {"bob"};
  groups[1].otherwise.otherwise = conf::Otherwise::deny;
  auto [client, server, asked] = exchange(get(at("blocked.test"), "/", kAlice));
  answer(server, client, "x");
  client.send(get(at("blocked.test"), "/", kBob));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  client.send(get(at("ok.test"), "/", kBob));
  const std::string head = read_answer(client).head;
  EXPECT_EQ(status_of(head), 403) << head;
  EXPECT_NE(field_of(head, "Proxy-Status").find("default_deny of group exam"), std::string::npos) << head;
  wait_until([&] { return log_text().find("\"group\":\"exam\"") != std::string::npos; });
  EXPECT_NE(log_text().find("\"group\":\"office\""), std::string::npos) << log_text();
}

TEST_F(LoginTest, AReloadThatMovesAUserToAnotherGroupEndsTunnels) {
  given.list = "blocked.test\n";
  auto& groups = given.settings.groups;
  groups.resize(1);
  groups[0].name = "office";
  groups[0].user_groups = {"staff"};
  groups[0].filters["testlist"].otherwise = conf::Group::Action::off;
  auto ending = tunnel_as(kAlice, "blocked.test"), other = tunnel_as(kAlice), hello = tunnel_as(kAlice);
  set_users(user_line("alice", ":guests") + user_line("bob"));
  reload();
  ending.client.expect_end();
  other.server.send("still here");
  other.client.expect("still here");
  hello.client.send(client_hello(server_name("blocked.test")));
  hello.client.expect_end();
  hello.server.expect_end();
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 1U);
  EXPECT_EQ(counter(&Counters::sni_blocked_total), 1U) << "judged as what she is by now";
}

class LoginThroughParent : public LoginTest {
 protected:
  LoginThroughParent() { given.settings.upstream.parent = origin.authority(); }
};

// The origin of these tests plays the parent, which is sent no credentials of clients even where it asks for some.
TEST_F(LoginThroughParent, CredentialsDoNotReachIt) {
  for (const std::string& text : {get("far.example", "/", kAlice), connect_to("far.example:443", kAlice)}) {
    auto [client, parent, asked] = exchange(text);
    EXPECT_EQ(field_of(asked, "Proxy-Authorization"), "") << asked;
    parent.send(
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\n"
        "Content-Length: 2\r\n\r\nno");
    const std::string head = read_answer(client).head;
    EXPECT_EQ(status_of(head), 502) << "the client's password is not for the parent: " << head;
    EXPECT_EQ(field_of(head, "Proxy-Authenticate"), "");
  }
}

TEST_F(LoginThroughParent, ItsOwnCredentialsDo) {
  given.settings.upstream.credentials_file = dir.write("credentials", "proxy:secret\n");
  auto [client, parent, asked] = exchange(get("far.example", "/", kAlice));
  EXPECT_EQ(field_of(asked, "Proxy-Authorization"), "Basic cHJveHk6c2VjcmV0");
}

}  // namespace
}  // namespace bloomwall::test
