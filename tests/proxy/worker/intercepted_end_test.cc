// How an answer inside intercepted TLS ends where the origin ends it in one way or another.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "tests/proxy/worker/inspection_fixture.h"

namespace bloomwall::test {
namespace {

class InterceptedEnd : public InspectionTest {
 protected:
  enum class By : std::uint8_t { word, silence, reset };
  struct Seen {
    std::string head, body;
    bool was_told = false, was_reset = false;
  };
  Seen answer_and_end(const std::string& answer, By way, const std::string& version = "1.1") {
    auto [client, server] = intercept();
    client.send("GET / HTTP/" + version + "\r\nHost: " + at("ok.test") + "\r\n\r\n");
    server.read_head();
    server.send(answer);
    Seen seen;
    seen.head = client.read_head();
    seen.body = client.read_exactly(answer.size() - answer.find("\r\n\r\n") - 4);
    if (way == By::word) server.end();
    way == By::reset ? server.socket().reset() : server.socket().shut_write();
    seen.body += client.read_to_end();
    seen.was_told = client.was_told();
    seen.was_reset = client.was_reset();
    return seen;
  }
};

TEST_F(InterceptedEnd, OfABodyWithoutLengthIsTheOrigins) {
  for (const char* version : {"1.0", "1.1"}) {
    const std::string answer = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it?";
    const Seen told = answer_and_end(answer, By::word, version);
    EXPECT_EQ(told.head.find("chunked"), std::string::npos) << told.head;
    EXPECT_NE(told.head.find("Connection: close"), std::string::npos) << told.head;
    EXPECT_EQ(told.body, "all of it?");
    EXPECT_TRUE(told.was_told) << "close_notify is passed on";
    const Seen untold = answer_and_end(answer, By::silence, version);
    EXPECT_EQ(untold.body, "all of it?");
    EXPECT_FALSE(untold.was_told) << "and so is its absence";
    EXPECT_FALSE(untold.was_reset) << "which is no visible cut";
    const Seen reset = answer_and_end(answer, By::reset, version);
    EXPECT_TRUE(reset.was_reset) << version;
  }
  EXPECT_EQ(errors(proxy::ErrorKind::connection_terminated), 4U);
}

TEST_F(InterceptedEnd, OfAnOriginBeforeTheClientHelloIsAPage) {
  for (const bool is_reset : {false, true}) {
    auto [client_socket, server] = tunnel("ok.test");
    is_reset ? server.reset() : server.shut_write();
    TlsPeer client = hello(std::move(client_socket));
    client.shake_hands();
    client.send(inner(at("ok.test")));
    const std::string head = client.read_head();
    EXPECT_TRUE(head.starts_with("HTTP/1.1 502 ")) << head;
    EXPECT_NE(head.find("error=tls_protocol_error"), std::string::npos) << head;
  }
}

TEST_F(InterceptedEnd, OfAFarEndWithoutTlsIsPassedOn) {
  for (const bool is_reset : {false, true}) {
    auto [client, server] = tunnel("ok.test");
    is_reset ? server.reset() : server.shut_write();
    EXPECT_EQ(client.read_to_end(), "");
  }
}

TEST_F(InterceptedEnd, OfABodyWithALengthSaysNothingMore) {
  const Seen whole = answer_and_end("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole", By::silence);
  EXPECT_EQ(whole.body, "whole");
  EXPECT_TRUE(whole.was_told) << "the answer is complete, whatever the origin left out";
  EXPECT_EQ(errors(proxy::ErrorKind::connection_terminated), 0U);
  const Seen part = answer_and_end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart", By::silence);
  EXPECT_EQ(part.body, "part") << "its length shows that it is cut";
  EXPECT_EQ(errors(proxy::ErrorKind::connection_terminated), 1U);
}

// Behind a body that an origin could take for a request no other goes out on the connection, which is the tunnel's one.
TEST_F(InterceptedEnd, OfARequestThatCouldHideAnotherIsTheConnections) {
  for (const bool hides : {false, true}) {
    auto [client, server] = intercept();
    const std::string body = hides ? "GET /blocked HTTP/1.1\r\n\r\n" : "GET /blocked HTTP/1.1'\r\n\r\n";
    client.send("POST / HTTP/1.1\r\nHost: " + at("ok.test") + "\r\n" + length_field(body.size()) + "\r\n" + body);
    server.read_head();
    EXPECT_EQ(server.read_exactly(body.size()), body);
    server.send(ok("taken"));
    EXPECT_EQ(field_of(client.read_head(), "Connection"), hides ? "close" : "");
    EXPECT_EQ(client.read_exactly(5), "taken");
    if (hides) {
      EXPECT_EQ(client.read_to_end(), "");
    }
  }
}

TEST_F(InterceptedEnd, OfAChunkedBodyIsACut) {
  auto [client, server] = intercept();
  client.send(inner(at("ok.test")));
  server.read_head();
  server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
  client.read_head();
  server.socket().shut_write();
  const std::string body = client.read_to_end();
  EXPECT_TRUE(body.starts_with("4\r\npart")) << body;
  EXPECT_EQ(body.find("0\r\n\r\n"), std::string::npos) << "no last chunk: " << body;
}

}  // namespace
}  // namespace bloomwall::test
