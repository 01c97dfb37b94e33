// Origins that fail: what is asked again and what never is, and what their clients are told.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "proxy/upstream/upstream.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using Stale = ProxyTest;
using Origin = ProxyTest;

TEST_F(Stale, AGetOnAPooledConnectionThatDiedIsSentAgainOnce) {
  auto [client, server, asked] = exchange(get_origin("/1"));
  answer(server, client, "one");
  rest(server);
  client.send(get_origin("/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 "));
  server.close();  // without an answer
  auto again = origin.accept();
  EXPECT_TRUE(again.read_head().starts_with("GET /2 "));
  answer(again, client, "two");
  EXPECT_EQ(counter(&Counters::upstream_retries_total), 1u);
}

TEST_F(Stale, AFreshConnectionThatDiesIsNotRetried) {
  auto [client, server, asked] = exchange();
  server.close();
  EXPECT_EQ(status_of(client.read_head()), 502);
  EXPECT_TRUE(origin.nobody_comes_for(30ms));
}

TEST_F(Stale, APostIsNeverSentTwice) {
  auto [client, warm, asked] = exchange();
  answer(warm, client, "warm");
  rest(warm);
  client.send(post_origin(length_field(3), "abc", "/once"));
  auto server = origin.accept();  // not the pooled one, which might be dead
  EXPECT_TRUE(server.read_head().starts_with("POST /once "));
  server.expect("abc");
  server.close();
  EXPECT_EQ(status_of(client.read_head()), 502);
  EXPECT_TRUE(origin.nobody_comes_for(30ms));
}

TEST_F(Stale, AnAnswerThatHasBegunIsNotAskedForAgain) {
  auto [client, server, asked] = exchange();
  answer(server, client, "one");
  rest(server);
  client.send(get_origin());
  server.read_head();
  server.send("HTTP/1.1 200 OK\r\nX-Half:");
  server.close();
  EXPECT_EQ(status_of(client.read_head()), 502);
}

TEST_F(Stale, OctetsBeyondAnAnswerAreNobodysAnswer) {
  auto [client, server, asked] = exchange();
  server.send(ok("one") + ok("poison"));
  client.read_head();
  client.expect("one");
  server.expect_end();
  client.send(get_origin());
  auto fresh = origin.accept();
  fresh.read_head();
  answer(fresh, client, "two");
  fresh.expect_end();  // nothing of such an origin is kept
  EXPECT_EQ(counter(&Counters::upstream_surplus_total), 1U);
}

TEST_F(Stale, OctetsOnAnIdleConnectionAreNobodysAnswer) {
  auto [client, server, asked] = exchange();
  answer(server, client, "one");
  server.send("HTTP/1.1 200 OK\r\n");
  server.expect_end();
  EXPECT_EQ(counter(&Counters::upstream_surplus_total), 1U);
  expect_alive();
}

TEST_F(Stale, AnotherClientUsesAConnectionAfterARestAndWithoutOneOnceItsOriginIsTrusted) {
  auto [client, server, asked] = exchange();
  answer(server, client, "one");
  std::vector<ScriptedPeer> clients, servers;  // of which nobody else may use any yet
  servers.push_back(std::move(server));
  while (servers.size() < proxy::UpstreamPool::kProofs) {
    clients.push_back(new_client());
    clients.back().send(get_origin("/at-once"));
    servers.push_back(origin.accept());
    EXPECT_TRUE(servers.back().read_head().starts_with("GET /at-once "));
    answer(servers.back(), clients.back(), "two");
  }
  rest(servers.back());
  for (const std::string path : {"/again", "/trusted"}) {
    auto other = new_client();
    other.send(get_origin(path));
    EXPECT_TRUE(servers.front().read_head().starts_with("GET " + path + " "));
    answer(servers.front(), other, path);
  }
}

// An origin that does not read the body takes it for a request, and its answer for that must reach nobody else, however
// late it comes.
TEST_F(Stale, AConnectionThatCarriedABodyIsOfItsClientAlone) {
  auto [client, server, asked] = exchange(post_origin(length_field(3), "abc"));
  server.expect("abc");
  answer(server, client, "one");
  rest(server);
  auto other = new_client();
  other.send(get_origin("/next"));
  auto fresh = origin.accept();
  fresh.read_head();
  server.send(ok("of the body"));
  server.expect_end();
  answer(fresh, other, "two");
}

TEST_F(Origin, FailuresHaveTheirStatus) {
  given.settings.timeouts.response_header = 200ms;
  struct Row {
    const char* name;
    std::string answer;
    int status;
  };
  for (const Row& row : {Row{"closes without a word", "", 502}, Row{"no http", "HELLO WORLD\r\n\r\n", 502},
                         Row{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502},
                         Row{"unasked 101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 502},
                         Row{"half a head", "HTTP/1.1 200 OK\r\nX:", 502}}) {
    auto [client, server, asked] = exchange();
    server.send(row.answer);
    server.close();
    const std::string head = client.read_head();
    EXPECT_EQ(status_of(head), row.status) << row.name;
    EXPECT_NE(field_of(head, "Proxy-Status"), "") << row.name;
  }
  auto [client, silent, asked] = exchange();
  EXPECT_EQ(status_of(client.read_head()), 504);
  EXPECT_EQ(status_of(reply_to(get("127.0.0.1:" + std::to_string(closed_port())))), 502);
}

// A head is late when it is not whole in time, however busy its origin looks meanwhile.
TEST_F(Origin, AHeadThatDripsInIsLateAllTheSame) {
  given.settings.timeouts.response_header = 200ms;
  struct Row {
    const char *name, *begin, *piece;
  };
  for (const Row& row : {Row{"octets", "HTTP/1.1 200 OK\r\n", "h"},
                         Row{"interim answers", "HTTP/", "1.1 103 Early Hints\r\n\r\nHTTP/"}}) {
    auto [client, server, asked] = exchange();
    server.send(row.begin);
    for (int i = 0; i < 90 && server.is_quiet_for(20ms); ++i) server.send(row.piece);
    int status = 0;
    while (status < 200) status = status_of(client.read_head());
    EXPECT_EQ(status, 504) << row.name;
    EXPECT_FALSE(server.is_quiet_for(20ms)) << row.name << ": left alone, not waited for";
  }
}

TEST_F(Origin, ANameThatResolvesToNothingHasItsStatus) {
  given.settings.timeouts.connect = 300ms;
  EXPECT_EQ(status_of(reply_to(get("nothing.invalid"))), 502);
}

TEST_F(Origin, ACutBodyDoesNotLookWhole) {
  for (const char* framing : {"Content-Length: 50\r\n\r\nonly this", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                              "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"}) {
    auto [client, server, asked] = exchange();
    server.send(std::string("HTTP/1.1 200 OK\r\n") + framing);
    server.close();
    EXPECT_EQ(status_of(client.read_head()), 200);
    const std::string rest = client.read_to_end();
    EXPECT_LT(rest.size(), 50u);
    EXPECT_EQ(rest.find("0\r\n\r\n"), std::string::npos);
  }
}

}  // namespace
}  // namespace bloomwall::test
