// What a plain request goes through: forwarding, keep-alive, pipelining, framing both ways.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <thread>

#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using Forward = ProxyTest;

constexpr const char* kWebSocket =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

TEST_F(Forward, AMalformedHeadIsAnsweredWithoutABody) {
  for (const std::string method : {"HEAD", "GET"}) {
    auto client = new_client(method + " http://ok.test/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    EXPECT_EQ(status_of(client.read_head()), 400);
    EXPECT_EQ(client.read_to_end().empty(), method == "HEAD") << method;
  }
}

TEST_F(Forward, ARequestAndItsAnswerPassThrough) {
  auto [client, server, asked] = exchange(get_origin("/a/b?c=d", "X-Test: 1\r\n"));
  EXPECT_TRUE(asked.starts_with("GET /a/b?c=d HTTP/1.1\r\nHost: " + origin.authority() + "\r\n")) << asked;
  EXPECT_EQ(field_of(asked, "X-Test"), "1");
  EXPECT_TRUE(field_of(asked, "Via").starts_with("1.1 bloomwall")) << asked;
  server.send(ok("hello"));
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 200);
  EXPECT_EQ(field_of(head, "Content-Length"), "5");
  client.expect("hello");
}

TEST_F(Forward, BothConnectionsAreKeptAndUsedAgain) {
  auto client = new_client(get_origin("/1"));
  auto server = origin.accept();
  for (int i = 1; i <= 3; ++i) {
    if (i > 1) {
      rest(server);
      client.send(get_origin("/" + std::to_string(i)));
    }
    EXPECT_TRUE(server.read_head().starts_with("GET /" + std::to_string(i) + " "));
    answer(server, client, "body" + std::to_string(i));
  }
  EXPECT_EQ(counter(&Counters::upstream_connections_total), 1u);
  EXPECT_EQ(counter(&Counters::upstream_reuses_total), 2u);
  EXPECT_EQ(counter(&Counters::client_connections_total), 1u);
}

// RFC 4559 section 6: what such an origin is asked next on the connection it answers as this user's.
TEST_F(Forward, AConnectionThatCredentialsSpeakForIsNobodyElses) {
  for (const char* credentials : {"Negotiate YIIabc", "negotiate\tYIIabc", "NTLM TlRMTVNTUAAB", "Kerberos YIIabc"}) {
    auto [client, server, asked] = exchange(get_origin("/", std::string("AUTHORIZATION: ") + credentials + "\r\n"));
    EXPECT_NE(asked.find(credentials), std::string::npos) << asked;
    answer(server, client, "you are anna");
    auto other = new_client(get_origin());
    auto next = origin.accept();
    next.read_head();
    answer(next, other, "who are you");
    next.close();
    client.send(get_origin());
    server.read_head();
    answer(server, client, "you are anna");
    client.close();
    server.expect_end();
  }
  EXPECT_EQ(counter(&Counters::upstream_reuses_total), 4U);
  for (const char* credentials :
       {"Authorization: Basic YTpi", "Authorization: Bearer negotiate", "Proxy-Authorization: Negotiate YIIabc"}) {
    auto [client, server, asked] = exchange(get_origin("/", std::string(credentials) + "\r\n"));
    answer(server, client, "x");
    rest(server);
    server.close();
  }
}

TEST_F(Forward, PipelinedRequestsAreAnsweredInOrder) {
  ScriptedListener fast;
  auto [client, slow, asked] = exchange(get_origin("/1") + get(fast.authority(), "/2") + get_origin("/3"));
  EXPECT_TRUE(fast.nobody_comes_for(50ms)) << "one request at a time";
  answer(slow, client, "one");
  auto second = fast.accept();
  second.read_head();
  answer(second, client, "two");
  EXPECT_TRUE(slow.read_head().starts_with("GET /3 "));
  answer(slow, client, "three");
}

TEST_F(Forward, RequestsAndAnswersCutAtEveryOctetArriveWhole) {
  auto client = new_client();
  client.send_in_pieces(post_origin("Transfer-Encoding: chunked\r\n",
                                    "5;ext=1\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nX-Trailer: t\r\n\r\n"),
                        1);
  auto server = origin.accept();
  EXPECT_EQ(field_of(server.read_head(), "Transfer-Encoding"), "chunked");
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

TEST_F(Forward, ThousandsOfTinyChunksCostNoThousandsOfWrites) {
  auto [client, server, asked] = exchange();
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

TEST_F(Forward, ABodyThatLastsUntilTheOriginClosesIsChunkedForTheClient) {
  auto [client, server, asked] = exchange();
  server.send("HTTP/1.0 200 OK\r\n\r\nuntil the end");
  server.close();
  EXPECT_EQ(field_of(client.read_head(), "Transfer-Encoding"), "chunked");
  EXPECT_EQ(client.read_chunked(), "until the end");
}

TEST_F(Forward, AnHttp10ClientGetsNoChunksAndAClose) {
  auto [client, server, asked] = exchange("GET http://" + origin.authority() + "/ HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(asked.starts_with("GET / HTTP/1.1\r\n"));
  server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  EXPECT_EQ(field_of(client.read_head(), "Transfer-Encoding"), "");
  EXPECT_EQ(client.read_to_end(), "abc");
}

TEST_F(Forward, AnHttp10ClientSeesACutBodyAsAReset) {
  auto [client, server, asked] = exchange("GET http://" + origin.authority() + "/ HTTP/1.0\r\n\r\n");
  server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  client.read_head();
  client.expect("abc");
  server.close();
  client.expect_reset();
}

// Servers are known to send a body after these all the same: no other client gets the connection, however long it has
// rested.
TEST_F(Forward, HeadAndBodilessAnswersLeaveTheConnectionToTheirClient) {
  auto [client, server, asked] = exchange(request("HEAD", origin.authority(), "/h"));
  server.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  EXPECT_EQ(field_of(client.read_head(), "Content-Length"), "100");
  for (const char* status : {"204 No Content", "304 Not Modified"}) {
    client.send(get_origin());
    server.read_head();
    server.send(std::string("HTTP/1.1 ") + status + "\r\n\r\n");
    EXPECT_EQ(std::to_string(status_of(client.read_head())), std::string(status).substr(0, 3));
  }
  rest(server);
  auto other = new_client(get_origin());
  auto another = origin.accept();
  another.read_head();
  answer(another, other, "of another's");
  client.send(get_origin("/last"));
  EXPECT_TRUE(server.read_head().starts_with("GET /last "));
  answer(server, client, "x");
}

TEST_F(Forward, InterimAnswersAreRelayedBeforeTheFinalOne) {
  auto [client, server, asked] = exchange();
  server.send("HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\n");
  const std::string hints = client.read_head();
  EXPECT_EQ(status_of(hints), 103);
  EXPECT_EQ(field_of(hints, "Link"), "</s.css>");
  answer(server, client, "done");
}

TEST_F(Forward, ExpectContinueGoesToTheOriginBeforeTheBody) {
  auto [client, server, asked] = exchange(post_origin("Expect: 100-continue\r\n" + length_field(4)));
  EXPECT_EQ(field_of(asked, "Expect"), "100-continue");
  server.send("HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 100);
  client.send("body");
  server.expect("body");
  answer(server, client, "thanks");
}

TEST_F(Forward, AnAnswerThatOvertakesTheBodyIsRelayedAndTheConnectionClosed) {
  auto [client, server, asked] = exchange(post_origin(length_field(1'000'000), std::string(5000, 'x')));
  server.send("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig");
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 413);
  EXPECT_EQ(field_of(head, "Connection"), "close");
  client.expect("big");
  client.expect_end();
}

TEST_F(Forward, AnUpgradeBecomesATunnelWithEverythingThatCameTooEarly) {
  auto [client, server, asked] = exchange(get_origin("/ws", kWebSocket) + "early");
  EXPECT_EQ(field_of(asked, "Upgrade"), "websocket");
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

// Nobody here could judge what follows.
TEST_F(Forward, ASwitchToWhatWasNotAskedForIsABadGateway) {
  for (const char* answer :
       {"Upgrade: h2c\r\n", "Upgrade: websocket, h2c\r\n", "Upgrade: websocket\r\nUpgrade: h2c\r\n",
        "Upgrade: h2c\r\nUpgrade: websocket\r\n", "Upgrade: websocket/13\r\n", "Upgrade: \"websocket\"\r\n", ""}) {
    auto [client, server, asked] = exchange(get_origin("/ws", kWebSocket));
    server.send(std::string("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n") + answer + "\r\n");
    EXPECT_EQ(status_of(client.read_head()), 502) << answer;
    server.expect_end();
  }
}

TEST_F(Forward, TrailersGoToWhoTakesThem) {
  for (const bool takes : {true, false}) {
    auto [client, server, asked] = exchange(get_origin("/", takes ? "Connection: TE\r\nTE: trailers\r\n" : ""));
    server.send(
        "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nTransfer-Encoding: chunked\r\n\r\n"
        "1\r\na\r\n0\r\nX-Sum: 7\r\nX-Hop: 1\r\n\r\n");
    client.read_head();
    std::string trailers;
    EXPECT_EQ(client.read_chunked(&trailers), "a");
    EXPECT_EQ(trailers, takes ? "X-Sum: 7\r\n" : "");
  }
}

// A client cannot bring a field past whoever reads heads alone.
TEST_F(Forward, TrailersThatARequestNominatesStayHere) {
  auto [client, server, asked] = exchange(post_origin("Connection: X-Hop, x-OTHER\r\nTransfer-Encoding: chunked\r\n",
                                                      "1\r\na\r\n0\r\nX-Sum: 7\r\nX-Hop: 1\r\nX-Other: 2\r\n\r\n"));
  std::string trailers;
  EXPECT_EQ(server.read_chunked(&trailers), "a");
  EXPECT_EQ(trailers, "X-Sum: 7\r\n");
}

TEST_F(Forward, AClientThatEndsItsSideStillGetsItsAnswer) {
  auto client = new_client(get_origin());
  client.shut_write();
  auto server = origin.accept();
  server.read_head();
  answer(server, client, "late");
  client.expect_end();
}

TEST_F(Forward, AnUploadThatIsBrokenOffIsCompletedNowhere) {
  struct Row {
    const char *framing, *half;
  };
  for (const Row& row :
       {Row{"Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"}, Row{"Content-Length: 100\r\n", "hello"}}) {
    auto [client, server, asked] = exchange(post_origin(row.framing, row.half));
    server.expect(row.half);
    client.close();
    server.expect_end();
  }
}

TEST_F(Forward, LargeBodiesBothWaysArriveUnchanged) {
  std::string body(12'345'678, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>((i * 2654435761U) >> 24U);
  auto client = new_client();
  std::jthread uploader([&] { client.send(post_origin(length_field(body.size()), body)); });
  auto server = origin.accept();
  server.read_head();
  EXPECT_TRUE(server.read_exactly(body.size()) == body);
  uploader.join();
  std::jthread responder([&] { server.send(ok(body)); });
  client.read_head();
  EXPECT_TRUE(client.read_exactly(body.size()) == body);
  responder.join();
}

TEST_F(Forward, ASlowReaderHoldsUpTheOriginAndNotTheMemory) {
  constexpr std::size_t kBytes = 64 << 20;
  auto [client, server, asked] = exchange();
  std::jthread sender([&] {
    try {
      server.send("HTTP/1.1 200 OK\r\n" + length_field(kBytes) + "\r\n");
      const std::string piece(1 << 20, 'z');
      for (std::size_t sent = 0; sent < kBytes; sent += piece.size()) server.send(piece);
    } catch (const std::exception&) {
      // patience ended because nobody read: what this test is about
    }
  });
  client.read_head();
  std::uint64_t peak = 0;
  const auto until = std::chrono::steady_clock::now() + 500ms;
  while (std::chrono::steady_clock::now() < until) peak = std::max(peak, the_proxy().gauges().buffer_bytes);
  EXPECT_GT(peak, 0u);
  EXPECT_LT(peak, 1u << 20);
  std::size_t received = 0;
  while (received < kBytes) received += client.read_exactly(std::min<std::size_t>(1 << 20, kBytes - received)).size();
  sender.join();
  EXPECT_EQ(received, kBytes);
}

}  // namespace
}  // namespace bloomwall::test
