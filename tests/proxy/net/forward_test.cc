// What a plain request goes through: forwarding, keep-alive, pipelining, framing both ways.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;

TEST(Forward, ARequestAndItsAnswerPassThrough) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/a/b?c=d", "X-Test: 1\r\n"));
  auto server = origin.accept();
  const std::string head = server.read_head();
  EXPECT_TRUE(head.starts_with("GET /a/b?c=d HTTP/1.1\r\nHost: " + origin.authority() + "\r\n")) << head;
  EXPECT_EQ(field_of(head, "X-Test"), "1");
  EXPECT_TRUE(field_of(head, "Via").starts_with("1.1 bloomwall")) << head;
  server.send(ok("hello"));
  const std::string answer = client.read_head();
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(field_of(answer, "Content-Length"), "5");
  client.expect("hello");
}

TEST(Forward, BothConnectionsAreKeptAndUsedAgain) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/1"));
  auto server = origin.accept();
  for (int i = 1; i <= 5; ++i) {
    if (i > 1) client.send(get(origin.authority(), "/" + std::to_string(i)));
    EXPECT_TRUE(server.read_head().starts_with("GET /" + std::to_string(i) + " "));
    server.send(ok("body" + std::to_string(i)));
    EXPECT_EQ(status_of(client.read_head()), 200);
    client.expect("body" + std::to_string(i));
  }
  EXPECT_EQ(proxy.counter(&Counters::upstream_connections_total), 1u);
  EXPECT_EQ(proxy.counter(&Counters::upstream_reuses_total), 4u);
  EXPECT_EQ(proxy.counter(&Counters::client_connections_total), 1u);
}

TEST(Forward, PipelinedRequestsAreAnsweredInOrder) {
  ProxyHarness proxy;
  ScriptedListener slow, fast;
  auto client = proxy.client();
  client.send(get(slow.authority(), "/1") + get(fast.authority(), "/2") + get(slow.authority(), "/3"));
  auto first = slow.accept();
  first.read_head();
  EXPECT_TRUE(fast.nobody_comes_for(std::chrono::milliseconds(50))) << "one request at a time";
  first.send(ok("one"));
  client.read_head();
  client.expect("one");
  auto second = fast.accept();
  second.read_head();
  second.send(ok("two"));
  client.read_head();
  client.expect("two");
  EXPECT_TRUE(first.read_head().starts_with("GET /3 "));
  first.send(ok("three"));
  client.read_head();
  client.expect("three");
}

TEST(Forward, RequestsAndAnswersCutAtEveryOctetArriveWhole) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send_in_pieces(request("POST", origin.authority(), "/up", "Transfer-Encoding: chunked\r\n",
                                "5;ext=1\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nX-Trailer: t\r\n\r\n"),
                        1);
  auto server = origin.accept();
  const std::string head = server.read_head();
  EXPECT_EQ(field_of(head, "Transfer-Encoding"), "chunked");
  std::string trailers;
  EXPECT_EQ(server.read_chunked(&trailers), "hello world");
  EXPECT_EQ(trailers, "X-Trailer: t\r\n");
  server.send_in_pieces(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
      "4\r\nabcd\r\n3\r\nefg\r\n0\r\nX-Sum: 7\r\n\r\n",
      1);
  EXPECT_EQ(status_of(client.read_head()), 200);
  EXPECT_EQ(client.read_chunked(&trailers), "abcdefg");
}

TEST(Forward, ThousandsOfTinyChunksCostNoThousandsOfWrites) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", body;
  for (int i = 0; i < 20'000; ++i) {
    chunks += "1\r\n" + std::string(1, static_cast<char>('a' + i % 26)) + "\r\n";
    body += static_cast<char>('a' + i % 26);
  }
  std::jthread sender([&] { server.send(chunks + "0\r\n\r\n"); });
  client.read_head();
  EXPECT_EQ(client.read_chunked(), body);
  sender.join();
}

TEST(Forward, ABodyThatLastsUntilTheOriginClosesIsChunkedForTheClient) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  {
    auto server = origin.accept();
    server.read_head();
    server.send("HTTP/1.0 200 OK\r\n\r\nuntil the end");
  }
  const std::string head = client.read_head();
  EXPECT_EQ(field_of(head, "Transfer-Encoding"), "chunked");
  EXPECT_EQ(client.read_chunked(), "until the end");
}

TEST(Forward, AnHttp10ClientGetsNoChunksAndAClose) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send("GET http://" + origin.authority() + "/ HTTP/1.0\r\n\r\n");
  auto server = origin.accept();
  EXPECT_TRUE(server.read_head().starts_with("GET / HTTP/1.1\r\n"));
  server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  const std::string head = client.read_head();
  EXPECT_EQ(field_of(head, "Transfer-Encoding"), "");
  EXPECT_EQ(client.read_to_end(), "abc");
}

TEST(Forward, AnHttp10ClientSeesACutBodyAsAReset) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send("GET http://" + origin.authority() + "/ HTTP/1.0\r\n\r\n");
  auto server = origin.accept();
  server.read_head();
  server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  client.read_head();
  client.expect("abc");
  server.close();
  client.expect_reset();
}

TEST(Forward, HeadAndBodilessAnswersLeaveTheConnectionUsable) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(request("HEAD", origin.authority(), "/h"));
  auto server = origin.accept();
  server.read_head();
  server.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  EXPECT_EQ(field_of(client.read_head(), "Content-Length"), "100");
  for (const char* status : {"204 No Content", "304 Not Modified"}) {
    client.send(get(origin.authority()));
    server.read_head();
    server.send(std::string("HTTP/1.1 ") + status + "\r\n\r\n");
    EXPECT_EQ(std::to_string(status_of(client.read_head())), std::string(status).substr(0, 3));
  }
  client.send(get(origin.authority(), "/last"));
  EXPECT_TRUE(server.read_head().starts_with("GET /last "));
  server.send(ok("x"));
  client.read_head();
  client.expect("x");
}

TEST(Forward, InterimAnswersAreRelayedBeforeTheFinalOne) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  server.send("HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\n");
  const std::string hints = client.read_head();
  EXPECT_EQ(status_of(hints), 103);
  EXPECT_EQ(field_of(hints, "Link"), "</s.css>");
  server.send(ok("done"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("done");
}

TEST(Forward, ExpectContinueGoesToTheOriginBeforeTheBody) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(request("POST", origin.authority(), "/", "Expect: 100-continue\r\nContent-Length: 4\r\n"));
  auto server = origin.accept();
  EXPECT_EQ(field_of(server.read_head(), "Expect"), "100-continue");
  server.send("HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 100);
  client.send("body");
  server.expect("body");
  server.send(ok("thanks"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("thanks");
}

TEST(Forward, AnAnswerThatOvertakesTheBodyIsRelayedAndTheConnectionClosed) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(request("POST", origin.authority(), "/", "Content-Length: 1000000\r\n", std::string(5000, 'x')));
  auto server = origin.accept();
  server.read_head();
  server.send("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig");
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 413);
  EXPECT_EQ(field_of(head, "Connection"), "close");
  client.expect("big");
  client.expect_end();
}

TEST(Forward, AnUpgradeBecomesATunnelWithEverythingThatCameTooEarly) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n") + "early");
  auto server = origin.accept();
  EXPECT_EQ(field_of(server.read_head(), "Upgrade"), "websocket");
  server.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 101);
  EXPECT_EQ(field_of(head, "Upgrade"), "websocket");
  client.expect("hello");
  server.expect("early");
  client.send("ping");
  server.expect("ping");
  server.send("pong");
  client.expect("pong");
  client.shut_write();
  server.expect_end();
  server.send("after");
  server.close();
  client.expect("after");
  client.expect_end();
}

TEST(Forward, AClientThatEndsItsSideStillGetsItsAnswer) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority()));
  client.shut_write();
  auto server = origin.accept();
  server.read_head();
  server.send(ok("late"));
  client.read_head();
  client.expect("late");
  client.expect_end();
}

TEST(Forward, AnUploadThatIsBrokenOffIsCompletedNowhere) {
  for (const char* framing : {"Transfer-Encoding: chunked\r\n", "Content-Length: 100\r\n"}) {
    ProxyHarness proxy;
    ScriptedListener origin;
    auto client = proxy.client();
    const bool chunked = std::string(framing).starts_with("Transfer");
    client.send(request("POST", origin.authority(), "/", framing, chunked ? "5\r\nhello\r\n" : "hello"));
    auto server = origin.accept();
    server.read_head();
    server.expect(chunked ? "5\r\nhello\r\n" : "hello");
    client.close();
    server.expect_end();
  }
}

TEST(Forward, LargeBodiesBothWaysArriveUnchanged) {
  ProxyHarness proxy;
  ScriptedListener origin;
  std::string body(12'345'678, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>((i * 2654435761U) >> 24U);
  auto client = proxy.client();
  std::jthread uploader([&] {
    client.send(
        request("POST", origin.authority(), "/", "Content-Length: " + std::to_string(body.size()) + "\r\n", body));
  });
  auto server = origin.accept();
  server.read_head();
  EXPECT_TRUE(server.read_exactly(body.size()) == body);
  uploader.join();
  std::jthread responder([&] { server.send(ok(body)); });
  client.read_head();
  EXPECT_TRUE(client.read_exactly(body.size()) == body);
  responder.join();
}

TEST(Forward, ASlowReaderHoldsUpTheOriginAndNotTheMemory) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto client = proxy.client();
  constexpr std::size_t kBytes = 64 << 20;
  client.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  std::jthread sender([&] {
    try {
      server.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n");
      const std::string piece(1 << 20, 'z');
      for (std::size_t sent = 0; sent < kBytes; sent += piece.size()) server.send(piece);
    } catch (const std::exception&) {
      // patience ended because nobody read: what this test is about
    }
  });
  client.read_head();
  std::uint64_t peak = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < until) peak = std::max(peak, proxy.server().gauges().buffer_bytes);
  EXPECT_GT(peak, 0u);
  EXPECT_LT(peak, 1u << 20);
  std::size_t received = 0;
  while (received < kBytes) received += client.read_exactly(std::min<std::size_t>(1 << 20, kBytes - received)).size();
  sender.join();
  EXPECT_EQ(received, kBytes);
}

}  // namespace
}  // namespace bloomwall::test
