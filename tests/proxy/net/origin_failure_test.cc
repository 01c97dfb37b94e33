// Origins that fail: what is asked again and what never is, and what their clients are told.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;

TEST(Stale, AGetOnAPooledConnectionThatDiedIsSentAgainOnce) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/1"));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("one"));
  client.read_head();
  client.expect("one");
  client.send(get(origin.authority(), "/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 "));
  server.close();  // without an answer
  auto again = origin.accept();
  EXPECT_TRUE(again.read_head().starts_with("GET /2 "));
  again.send(ok("two"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("two");
  EXPECT_EQ(proxy.counter(&Counters::upstream_retries_total), 1u);
}

TEST(Stale, AFreshConnectionThatDiesIsNotRetried) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  origin.accept().read_head();
  EXPECT_EQ(status_of(client.read_head()), 502);
  EXPECT_TRUE(origin.nobody_comes_for(std::chrono::milliseconds(30)));
}

TEST(Stale, APostIsNeverSentTwice) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto warm = origin.accept();
  warm.read_head();
  warm.send(ok("warm"));
  client.read_head();
  client.expect("warm");
  client.send(request("POST", origin.authority(), "/once", "Content-Length: 3\r\n", "abc"));
  auto server = origin.accept();  // not the pooled one, which might be dead
  EXPECT_TRUE(server.read_head().starts_with("POST /once "));
  server.expect("abc");
  server.close();
  EXPECT_EQ(status_of(client.read_head()), 502);
  EXPECT_TRUE(origin.nobody_comes_for(std::chrono::milliseconds(30)));
}

TEST(Stale, AnAnswerThatHasBegunIsNotAskedForAgain) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("one"));
  client.read_head();
  client.expect("one");
  client.send(get(origin.authority()));
  server.read_head();
  server.send("HTTP/1.1 200 OK\r\nX-Half:");
  server.close();
  EXPECT_EQ(status_of(client.read_head()), 502);
}

TEST(Stale, OctetsBeyondAnAnswerAreNobodysAnswer) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("one") + ok("poison"));
  client.read_head();
  client.expect("one");
  server.expect_end();
  client.send(get(origin.authority()));
  auto fresh = origin.accept();
  fresh.read_head();
  fresh.send(ok("two"));
  client.read_head();
  client.expect("two");
  fresh.send("HTTP/1.1 200 OK\r\n");  // on an idle connection
  fresh.expect_end();
}

TEST(Origin, FailuresHaveTheirStatus) {
  HarnessOptions options;
  options.settings.timeouts.response_header = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  struct Row {
    const char* name;
    std::string answer;
    int status;
  };
  for (const Row& row : {Row{"closes without a word", "", 502}, Row{"no http", "HELLO WORLD\r\n\r\n", 502},
                         Row{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502},
                         Row{"unasked 101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 502},
                         Row{"half a head", "HTTP/1.1 200 OK\r\nX:", 502}}) {
    ScriptedListener origin;
    auto client = proxy.client();
    client.send(get(origin.authority()));
    auto server = origin.accept();
    server.read_head();
    if (!row.answer.empty()) server.send(row.answer);
    server.close();
    const std::string head = client.read_head();
    EXPECT_EQ(status_of(head), row.status) << row.name;
    EXPECT_NE(field_of(head, "Proxy-Status"), "") << row.name;
  }
  ScriptedListener silent;
  auto client = proxy.client();
  client.send(get(silent.authority()));
  auto server = silent.accept();
  EXPECT_EQ(status_of(client.read_head()), 504);
  server.read_head();
  auto refused = proxy.client();
  refused.send(get("127.0.0.1:" + std::to_string(closed_port())));
  EXPECT_EQ(status_of(refused.read_head()), 502);
}

// A head is late when it is not whole in time, however busy its origin looks meanwhile.
TEST(Origin, AHeadThatDripsInIsLateAllTheSame) {
  HarnessOptions options;
  options.settings.timeouts.response_header = conf::Milliseconds(200);
  ProxyHarness proxy(std::move(options));
  struct Row {
    const char* name;
    std::string piece;
  };
  for (const Row& row : {Row{"octets", "h"}, Row{"interim answers", "1.1 103 Early Hints\r\n\r\nHTTP/"}}) {
    ScriptedListener origin;
    auto client = proxy.client();
    client.send(get(origin.authority()));
    auto server = origin.accept();
    server.read_head();
    server.send("HTTP/");
    if (row.piece == "h") server.send("1.1 200 OK\r\n");
    for (int i = 0; i < 90 && server.is_quiet_for(std::chrono::milliseconds(20)); ++i) server.send(row.piece);
    int status = 0;
    while (status < 200) status = status_of(client.read_head());
    EXPECT_EQ(status, 504) << row.name;
    EXPECT_FALSE(server.is_quiet_for(std::chrono::milliseconds(20))) << row.name << ": left alone, not waited for";
  }
}

TEST(Origin, ANameThatResolvesToNothingHasItsStatus) {
  HarnessOptions options;
  options.settings.timeouts.connect = conf::Milliseconds(300);
  ProxyHarness proxy(std::move(options));
  auto client = proxy.client();
  client.send(get("nothing.invalid"));
  EXPECT_EQ(status_of(client.read_head()), 502);
}

TEST(Origin, ACutBodyDoesNotLookWhole) {
  ProxyHarness proxy;
  for (const char* framing : {"Content-Length: 50\r\n\r\nonly this", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                              "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"}) {
    ScriptedListener origin;
    auto client = proxy.client();
    client.send(get(origin.authority()));
    auto server = origin.accept();
    server.read_head();
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
