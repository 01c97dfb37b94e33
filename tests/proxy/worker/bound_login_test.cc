// Logins that count for a connection (NTLM, Negotiate with several legs): the client's connection and the one to the
// origin or parent belong to each other.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/proxy/worker/inspection_fixture.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;

const std::string kFirstLeg = "NTLM TlRMTVNTUAABAAAA", kThirdLeg = "NTLM TlRMTVNTUAADAAAA";

// An origin, or a parent, that knows its clients by connection. Whoever has not logged in on this one is asked to.
class LoginPeer {
 public:
  LoginPeer(Peer& peer, bool is_parent) : peer_(peer), is_parent_(is_parent) {}
  // One request and its answer. Returns the request's head.
  std::string serve() {
    std::string head = peer_.read_head();
    const std::string login = field_of(head, is_parent_ ? "Proxy-Authorization" : "Authorization");
    if (login == kFirstLeg) {
      has_challenged_ = true;
      ask("NTLM TlRMTVNTUAACAAAA");
    } else if (has_logged_in_ || (login == kThirdLeg && has_challenged_)) {
      has_logged_in_ = true;
      if (head.starts_with("CONNECT ")) {
        peer_.send("HTTP/1.1 200 OK\r\n\r\n");
      } else {
        peer_.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nanna");
      }
    } else {
      ask("NTLM");
    }
    return head;
  }

 private:
  void ask(const std::string& challenge) {
    peer_.send(is_parent_
                   ? "HTTP/1.1 407 Log In\r\nProxy-Authenticate: " + challenge + "\r\nContent-Length: 2\r\n\r\nno"
                   : "HTTP/1.1 401 Log In\r\nWWW-Authenticate: " + challenge + "\r\nContent-Length: 2\r\n\r\nno");
  }
  Peer& peer_;
  bool is_parent_, has_challenged_ = false, has_logged_in_ = false;
};

class BoundLogin : public ProxyTest {
 protected:
  static std::string login(const std::string& value) { return "Authorization: " + value + "\r\n"; }
  // Anna has logged in.
  struct LoggedIn {
    ScriptedPeer client, server;
  };
  LoggedIn log_in() {
    auto [client, server, asked] = exchange(get_origin("/", login(kFirstLeg)));
    server.send("HTTP/1.1 401 Log In\r\nWWW-Authenticate: NTLM TlRMTVNTUAACAAAA\r\nContent-Length: 2\r\n\r\nno");
    EXPECT_EQ(status_of(read_answer(client).head), 401);
    client.send(get_origin("/", login(kThirdLeg)));
    server.read_head();
    answer(server, client, "anna");
    return {std::move(client), std::move(server)};
  }
};

TEST_F(BoundLogin, AllLegsAndWhatFollowsComeOnOneConnection) {
  auto client = new_client(get_origin());
  auto server = origin.accept();
  LoginPeer known(server, false);
  known.serve();
  Answer answer = read_answer(client);
  EXPECT_EQ(status_of(answer.head), 401);
  EXPECT_EQ(field_of(answer.head, "Proxy-Support"), "Session-Based-Authentication") << answer.head;
  EXPECT_EQ(field_of(answer.head, "Connection"), "Proxy-Support") << answer.head;
  rest(server);
  client.send(get_origin("/", login(kFirstLeg)));
  known.serve();
  answer = read_answer(client);
  EXPECT_EQ(field_of(answer.head, "WWW-Authenticate"), "NTLM TlRMTVNTUAACAAAA");
  client.send(post_origin(login(kThirdLeg) + "Content-Length: 3\r\n", "abc"));
  known.serve();
  server.expect("abc");
  EXPECT_EQ(read_answer(client).body, "anna");
  for (int i = 0; i < 3; ++i) {
    client.send(get_origin("/more"));
    known.serve();
    EXPECT_EQ(read_answer(client).body, "anna");
  }
  EXPECT_EQ(counter(&Counters::upstream_connections_total), 1U);
}

TEST_F(BoundLogin, NobodyElseIsSentThere) {
  auto [client, server] = log_in();
  rest(server);
  auto other = new_client(get_origin());
  auto fresh = origin.accept();
  fresh.read_head();
  answer(fresh, other, "who are you");
  EXPECT_TRUE(server.is_quiet_for(50ms));
  client.close();
  server.expect_end();
}

TEST_F(BoundLogin, RequestsToOthersGoElsewhere) {
  ScriptedListener elsewhere;
  auto [client, server] = log_in();
  client.send(get(elsewhere.authority(), "/other"));
  auto other = elsewhere.accept();
  EXPECT_TRUE(other.read_head().starts_with("GET /other "));
  answer(other, client, "other");
  client.send(get_origin("/again"));
  EXPECT_TRUE(server.read_head().starts_with("GET /again "));
  answer(server, client, "anna");
}

TEST_F(BoundLogin, TheClientsConnectionEndsWithTheOrigins) {
  {
    auto [client, server] = log_in();
    server.close();
    client.expect_end();
  }
  {
    auto [client, server] = log_in();
    server.send("octets that answer nothing");
    client.expect_end();
    server.expect_end();
  }
  {
    auto [client, server] = log_in();
    client.send(get_origin("/last"));
    server.read_head();
    server.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx");
    const Answer answer = read_answer(client);
    EXPECT_EQ(field_of(answer.head, "Connection"), "close") << answer.head;
    client.expect_end();
  }
  {
    auto [client, server] = log_in();  // it ends while it is asked: nothing is sent again on another one
    client.send(get_origin("/lost"));
    server.read_head();
    server.close();
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_TRUE(origin.nobody_comes_for(50ms));
  }
}

// An answer on another host's connection is complete; then the client learns that it is to log in again.
TEST_F(BoundLogin, AnExchangeWithAnotherEndsFirst) {
  ScriptedListener elsewhere;
  auto [client, server] = log_in();
  client.send(get(elsewhere.authority(), "/other"));
  auto other = elsewhere.accept();
  other.read_head();
  server.close();
  rest(other);
  answer(other, client, "other");
  client.expect_end();
}

TEST_F(BoundLogin, AProxysClientsShareNone) {
  const std::string through = "Via: 1.1 below\r\n";
  auto [client, server, asked] = exchange(get_origin("/", through + login(kFirstLeg)));
  server.send("HTTP/1.1 401 Log In\r\nWWW-Authenticate: NTLM TlRMTVNTUAACAAAA\r\nContent-Length: 2\r\n\r\nno");
  const Answer answer = read_answer(client);
  EXPECT_EQ(field_of(answer.head, "Proxy-Support"), "") << answer.head;
  server.expect_end();
}

TEST_F(BoundLogin, ToAParentLastsForAllThatIsAskedOfIt) {
  given.settings.upstream.parent = origin.authority();
  const auto proxy_login = [](const std::string& value) { return "Proxy-Authorization: " + value + "\r\n"; };
  auto client = new_client(get("far.example", "/", proxy_login(kFirstLeg)));
  auto up = origin.accept();
  LoginPeer parent(up, true);
  parent.serve();
  EXPECT_EQ(field_of(read_answer(client).head, "Proxy-Authenticate"), "NTLM TlRMTVNTUAACAAAA");
  client.send(get("far.example", "/", proxy_login(kThirdLeg)));
  parent.serve();
  EXPECT_EQ(read_answer(client).body, "anna");
  client.send(get("other.example", "/"));
  EXPECT_TRUE(parent.serve().starts_with("GET http://other.example/ "));
  EXPECT_EQ(read_answer(client).body, "anna");
  client.send(connect_to("far.example:443"));
  EXPECT_TRUE(parent.serve().starts_with("CONNECT far.example:443 "));
  EXPECT_EQ(status_of(client.read_head()), 200);
}

TEST_F(BoundLogin, ToAParentByConnect) {
  given.settings.upstream.parent = origin.authority();
  const auto connect = [](const std::string& value) {
    return connect_to("far.example:443", "Proxy-Authorization: " + value + "\r\n");
  };
  auto client = new_client(connect(kFirstLeg));
  auto up = origin.accept();
  LoginPeer parent(up, true);
  parent.serve();
  const Answer answer = read_answer(client);
  EXPECT_EQ(status_of(answer.head), 407);
  EXPECT_EQ(field_of(answer.head, "Connection"), "");
  client.send(connect(kThirdLeg));
  parent.serve();
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.send("octets");
  up.expect("octets");
}

// A parent that does not keep connections together says nothing.
TEST_F(BoundLogin, ThroughAParentThatVouchesForIt) {
  given.settings.upstream.parent = origin.authority();
  for (const bool vouches : {false, true}) {
    auto [client, up, asked] = exchange(get("far.example", "/", login(kFirstLeg)));
    up.send(std::string("HTTP/1.1 401 Log In\r\nWWW-Authenticate: NTLM TlRMTVNTUAACAAAA\r\nContent-Length: 0\r\n") +
            (vouches ? "Proxy-Support: Session-Based-Authentication\r\n" : "") + "\r\n");
    const std::string head = client.read_head();
    EXPECT_EQ(field_of(head, "Proxy-Support"), vouches ? "Session-Based-Authentication" : "") << head;
    client.send(get("far.example", "/", login(kThirdLeg)));
    up.read_head();
    answer(up, client, "anna");
  }
}

class BoundLoginInTls : public InspectionTest {};

TEST_F(BoundLoginInTls, AllLegsComeOnTheConnectionOfTheTunnel) {
  auto [client, server] = intercept();
  LoginPeer known(server, false);
  const auto ask = [&, &peer = client](const std::string& value) {
    peer.send(inner(at("ok.test"), "/", "Authorization: " + value + "\r\n"));
    known.serve();
    return read_answer(peer);
  };
  EXPECT_EQ(status_of(ask(kFirstLeg).head), 401);
  EXPECT_EQ(ask(kThirdLeg).body, "anna");
  EXPECT_EQ(counter(&Counters::upstream_connections_total), 1U);
}

}  // namespace
}  // namespace bloomwall::test
