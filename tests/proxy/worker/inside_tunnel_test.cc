// HTTP/1 inside CONNECT: every request is judged by the tunnel's host and by its own, and goes nowhere but to the far
// end of the tunnel. Other protocols pass without delay, or do not pass, as access.opaque_tunnels says.
// SPDX-License-Identifier: Apache-2.0
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using conf::Access;
using Opaque = Access::OpaqueTunnels;

class InsideTunnel : public ProxyTest {
 protected:
  void SetUp() override { given.list = "blocked.test\nhttp://mixed.test/bad/\n"; }
  // The origin sees this request line, and answers.
  void served(Tunnel& open, const std::string& request, const std::string& first_line) {
    open.client.send(request);
    const std::string asked = open.server.read_head();
    EXPECT_TRUE(asked.starts_with(first_line + "\r\n")) << asked;
    answer(open.server, open.client, "inner");
  }
  void refused(Tunnel& open, const std::string& request, int status) {
    open.client.send(request);
    const Answer got = read_answer(open.client);
    EXPECT_EQ(status_of(got.head), status) << request << got.head;
  }
};

TEST_F(InsideTunnel, EachRequestIsJudgedAndTheTunnelGoesOn) {
  auto open = tunnel("mixed.test");
  served(open, inner("mixed.test", "/ok"), "GET /ok HTTP/1.1");
  refused(open, inner("mixed.test", "/bad/evil.html"), 403);
  refused(open, inner("mixed.test", "/x/..%2fbad/evil.html"), 403);
  served(open, inner("mixed.test", "/ok2"), "GET /ok2 HTTP/1.1");
  refused(open, inner("blocked.test"), 403);
  refused(open, inner("sub.blocked.test:81"), 403);
  served(open, inner("ok.test"), "GET / HTTP/1.1");
  EXPECT_EQ(counter(&Counters::tunnels_with_requests_total), 1U);
  EXPECT_EQ(counter(&Counters::upstream_connections_total), 1U) << "all on the tunnel's connection";
}

TEST_F(InsideTunnel, CredentialsMaySpeakForItsConnection) {
  auto open = tunnel("mixed.test");
  served(open, inner("mixed.test", "/", "Authorization: NTLM TlRMTVNTUAAB\r\n"), "GET / HTTP/1.1");
  served(open, inner("mixed.test", "/", "Authorization: NTLM TlRMTVNTUAAD\r\n"), "GET / HTTP/1.1");
  EXPECT_EQ(counter(&Counters::upstream_connections_total), 1U);
}

TEST_F(InsideTunnel, Http2WithoutTlsEndsWithoutAnAnswer) {
  auto open = tunnel("mixed.test");
  open.client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_EQ(open.client.read_to_end(), "") << "of HTTP/1 to who speaks HTTP/2";
  open.server.expect_end();
  EXPECT_EQ(errors(proxy::ErrorKind::http2_preface), 1U);
  auto other = tunnel("ok.test");
  refused(other, "GET /1 HTTP/2.0\r\nHost: ok.test\r\n\r\n", 505);  // who writes this speaks HTTP/1
}

TEST_F(InsideTunnel, APortOfAnotherProtocolIsNone) {
  given.settings.access.deny_ports = {origin.port()};
  auto open = tunnel("mixed.test");
  refused(open, inner("mixed.test"), 403);
  EXPECT_EQ(errors(proxy::ErrorKind::port_denied), 1U);
}

// The tunnel's host needs a pass of its own whatever Host says.
TEST_F(InsideTunnel, TheTunnelsHostIsJudgedWithEachUrl) {
  auto open = tunnel("mixed.test");
  refused(open, inner("ok.test", "/bad/evil.html"), 403);
  refused(open, "GET http://ok.test/bad/evil.html HTTP/1.1\r\nHost: ok.test\r\n\r\n", 403);
  refused(open, "GET http://blocked.test/ HTTP/1.1\r\nHost: mixed.test\r\n\r\n", 403);
  served(open, "GET http://ok.test/fine HTTP/1.1\r\nHost: mixed.test\r\n\r\n", "GET /fine HTTP/1.1");
}

TEST_F(InsideTunnel, PipelinedRequestsAreJudgedOneByOne) {
  auto open = tunnel("mixed.test");
  open.client.send(inner("mixed.test", "/1") + inner("mixed.test", "/bad/2") + inner("mixed.test", "/3"));
  EXPECT_TRUE(open.server.read_head().starts_with("GET /1 "));
  answer(open.server, open.client, "one");
  EXPECT_EQ(status_of(read_answer(open.client).head), 403);
  EXPECT_TRUE(open.server.read_head().starts_with("GET /3 "));
  answer(open.server, open.client, "three");
}

TEST_F(InsideTunnel, ARequestMayComeInPiecesAndTogetherWithTheConnect) {
  {
    auto open = tunnel("mixed.test");
    open.client.send_in_pieces("\r\n" + inner("mixed.test", "/pieces"), 1);
    EXPECT_NE(open.server.read_head().find("GET /pieces HTTP/1.1\r\n"), std::string::npos);
    answer(open.server, open.client, "in pieces");
    open.client.send_in_pieces(inner("mixed.test", "/bad/pieces"), 1);
    EXPECT_EQ(status_of(read_answer(open.client).head), 403);
  }
  auto client = new_client(connect_to(at("mixed.test")) + inner("mixed.test", "/bad/early"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  EXPECT_EQ(status_of(read_answer(client).head), 403);
}

// A carriage return passes without delay; the line feed that ends its line is no beginning of a request.
TEST_F(InsideTunnel, AnEmptyLineMayComeInPieces) {
  for (const std::string_view rest : {"\nGET /half HTTP/1.1\r\nHost: mixed.test\r\n\r\n", "\nG", "\n"}) {
    SCOPED_TRACE(rest);
    auto open = tunnel("mixed.test");
    open.client.send("\r");
    open.server.expect("\r");
    open.client.send(rest);
    if (rest == "\n") open.server.expect("\n");
    const std::string request = inner("mixed.test", "/half");
    if (rest.size() < 3) open.client.send_in_pieces(request.substr(rest.size() - 1), 1);
    const std::string seen = open.server.read_head();
    EXPECT_NE(seen.find("GET /half HTTP/1.1\r\n"), std::string::npos) << seen;
    answer(open.server, open.client, "whole");
  }
}

TEST_F(InsideTunnel, BodiesPassBothWays) {
  auto open = tunnel("ok.test");
  open.client.send("POST /up HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\n\r\nbody");
  open.server.read_head();
  open.server.expect("body");
  open.server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(open.client.read_head()), 200);
  EXPECT_EQ(open.client.read_chunked(), "yes");
  served(open, inner("ok.test", "/next"), "GET /next HTTP/1.1");
}

TEST_F(InsideTunnel, AWebSocketIsJudgedAndOpened) {
  const std::string upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  auto open = tunnel("mixed.test");
  refused(open, inner("mixed.test", "/bad/socket", upgrade), 403);
  open.client.send(inner("mixed.test", "/socket", upgrade));
  const std::string asked = open.server.read_head();
  EXPECT_NE(asked.find("websocket"), std::string::npos) << asked;
  open.server.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
  EXPECT_EQ(status_of(open.client.read_head()), 101);
  open.client.expect("hello");
  open.client.send("GET /bad/ HTTP/1.1 is data here");
  open.server.expect("GET /bad/ HTTP/1.1 is data here");
}

TEST_F(InsideTunnel, WhatNeedsNoOriginIsRefusedOrAnswered) {
  auto open = tunnel("ok.test");
  refused(open, connect_to("blocked.test:443"), 405);
  open.server.expect_end();
  for (const std::string text :
       {"GET /bad\r\n\r\n", "GET bad\n", "GET ./bad\r\n\r\n", "GET ?/../bad\n", "GET key\r\n\r\n", " GET bad\n",
        "\tGET /bad\n", "POST bad\r\n\r\n", "GET\tbad HTTP/1.0\r\n\r\n"}) {
    SCOPED_TRACE(text);
    auto old = tunnel("ok.test");
    old.client.send(text);
    EXPECT_EQ(status_of(old.client.read_head()), 400) << text;
    old.server.expect_end();
  }
}

// Some servers take a line without its end for one, once the client has ended.
TEST_F(InsideTunnel, ALineThatIsCutShortIsNoRequest) {
  for (const std::string text : {"GET bad", "GET ", "POST bad", "LOCK x", "\r\nGET\tbad", " GET bad"}) {
    auto open = tunnel("ok.test");
    open.client.send(text);  // at once: some are refused, and reset, before they have ended
    open.client.shut_write();
    EXPECT_EQ(open.server.read_to_end().find("bad"), std::string::npos) << text;
  }
}

TEST_F(InsideTunnel, BothEndsGoTogether) {
  {
    auto open = tunnel("ok.test");
    served(open, inner("ok.test"), "GET / HTTP/1.1");
    open.server.close();
    open.client.expect_end();
  }
  {
    auto open = tunnel("ok.test");
    served(open, inner("ok.test"), "GET / HTTP/1.1");
    open.server.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");  // nobody asked
    open.client.expect_end();
  }
  {
    auto open = tunnel("ok.test");
    served(open, inner("ok.test"), "GET / HTTP/1.1");
    open.client.close();
    open.server.expect_end();
  }
  for (const std::string& begun : {std::string("\r"), std::string("GET /next HTTP/1.1\r\nX: ")}) {
    auto open = tunnel("ok.test");
    served(open, inner("ok.test"), "GET / HTTP/1.1");
    open.client.send(begun);
    EXPECT_TRUE(open.server.is_quiet_for(std::chrono::milliseconds(20))) << "nothing goes out before it is whole";
    open.server.close();
    open.client.expect_end();
    open.client.close();
    wait_for_counter(&Counters::client_connections_active, 0);
    EXPECT_EQ(the_proxy().gauges().requests_in_flight, 0U);
    EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
    auto [next, server, asked] = exchange();  // of somebody else's
    answer(server, next, "fine");
    next.close();
    wait_for_counter(&Counters::client_connections_active, 0);
  }
  auto open = tunnel("ok.test");
  open.client.send(inner("ok.test"));
  open.server.read_head();
  open.server.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end");
  open.server.close();
  EXPECT_EQ(status_of(open.client.read_head()), 200);
  EXPECT_EQ(open.client.read_to_end().find("to the end") != std::string::npos, true);
  wait_for_counter(&Counters::upstream_connections_active, 0);
}

// The first verdicts wait for the disk, before which nothing of the body may be read away.
TEST_F(InsideTunnel, RequestsMayWaitForPagesOfAFilter) {
  given.paged = true;
  for (const std::string path : {"/ok", "/other"}) {
    auto open = tunnel("mixed.test");
    open.client.send("POST " + path + " HTTP/1.1\r\nHost: mixed.test\r\nContent-Length: 4\r\n\r\nbody");
    EXPECT_TRUE(open.server.read_head().starts_with("POST " + path));
    open.server.expect("body");
    answer(open.server, open.client, "got it");
    refused(open, inner("mixed.test", "/bad" + path), 403);
    served(open, inner("mixed.test", path), "GET " + path + " HTTP/1.1");
  }
}

TEST_F(InsideTunnel, ARequestWithoutHostIsForTheTunnels) {
  auto open = tunnel("mixed.test");
  open.client.send("GET /bad/x HTTP/1.0\r\n\r\n");
  EXPECT_EQ(status_of(open.client.read_head()), 403);
  auto other = tunnel("mixed.test");
  other.client.send("GET /x HTTP/1.0\r\n\r\n");
  EXPECT_NE(other.server.read_head().find("Host: mixed.test"), std::string::npos);
}

// Octet by octet, as far as it is taken: it may be refused, and the connection closed, before the last one.
void send_octets(ScriptedPeer& client, const std::string& text) {
  try {
    client.send_in_pieces(text, 1);
  } catch (const std::exception&) {
  }
}

TEST_F(InsideTunnel, ARequestOfAnUnknownMethodDoesNotArriveWhole) {
  auto whole = tunnel("mixed.test");
  whole.client.send("brew /bad/x HTTP/1.1\r\nHost: mixed.test\r\n\r\n");
  EXPECT_EQ(status_of(whole.client.read_head()), 403) << "judged, where nothing of it has passed";
  auto pieces = tunnel("mixed.test");
  send_octets(pieces.client, "brew /bad/x HTTP/");
  pieces.client.expect_end();
  const std::string passed = pieces.server.read_to_end();
  EXPECT_TRUE(std::string("brew /bad/x HTTP").starts_with(passed)) << passed;
  EXPECT_EQ(counter(&Counters::tunnels_refused_total), 1U);
  for (const std::string text : {"get /bad\n", " GET bad\n"}) {
    auto old = tunnel("mixed.test");
    send_octets(old.client, text);
    EXPECT_EQ(old.server.read_to_end().find("bad"), std::string::npos) << text;
  }
}

TEST_F(InsideTunnel, AnythingElsePassesWithoutDelay) {
  for (const std::string text : {"hello", "SSH-2.0-x\r\n", "PING", "\r\n", "x"}) {
    auto open = tunnel("ok.test");
    open.client.send(text);
    open.server.expect(text);
    open.server.send("reply");
    open.client.expect("reply");
  }
  auto first = tunnel("ok.test");
  first.server.send("220 ready\r\n");
  first.client.expect("220 ready\r\n");
  first.client.send("GET key\r\n");
  first.server.expect("GET key\r\n");
  auto half = tunnel("ok.test");
  half.client.send("LOCK");
  half.client.shut_write();
  EXPECT_EQ(half.server.read_to_end(), "LOCK");
}

TEST_F(InsideTunnel, TheSettingsSayWhatMayPass) {
  given.settings.access.opaque_tunnels = Opaque::allow;
  {
    auto open = tunnel("mixed.test");
    open.client.send(inner("blocked.test", "/bad/"));
    open.server.expect(inner("blocked.test", "/bad/"));
  }
  given.settings.access.opaque_tunnels = Opaque::deny;
  reload();
  for (const std::string& text : {inner("ok.test"), std::string("hello"), std::string("\x05\x01")}) {
    auto open = tunnel("ok.test");
    open.client.send(text);
    open.client.expect_end();
    open.server.expect_end();
  }
  auto open = tunnel("ok.test");
  open.server.send("220 ready\r\n");
  open.client.expect_end();
  EXPECT_EQ(counter(&Counters::tunnels_refused_total), 4U);
}

TEST_F(InsideTunnel, TheLogTellsThemFromOthers) {
  given.logged = true;
  auto open = tunnel("mixed.test");
  served(open, inner("mixed.test", "/ok"), "GET /ok HTTP/1.1");
  refused(open, inner("mixed.test", "/bad/"), 403);
  served(open, inner("mixed.test", "/ok"), "GET /ok HTTP/1.1");  // by then the line of the one before is written
  const std::string log = log_text();
  EXPECT_NE(log.find(R"("proxy_type":"connect")"), std::string::npos) << log;
  EXPECT_NE(log.find(R"("proxy_type":"http_in_tunnel","method":"GET","url":"http://mixed.test/ok")"), std::string::npos)
      << log;
  EXPECT_NE(log.find(R"("url":"http://mixed.test/bad/")"), std::string::npos) << log;
}

TEST_F(InsideTunnel, ThroughAParentTheyStayOnItsTunnel) {
  given.settings.upstream.parent = origin.authority();
  auto [client, up, asked] = exchange(connect_to("mixed.test:80"));
  EXPECT_TRUE(asked.starts_with("CONNECT mixed.test:80 ")) << asked;
  up.send("HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.send(inner("mixed.test", "/x"));
  EXPECT_TRUE(up.read_head().starts_with("GET /x HTTP/1.1\r\n"));
  answer(up, client, "through the parent");
  client.send(inner("mixed.test", "/bad/"));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  given.settings.access.deny_destinations = {"loopback"};  // where dns.hosts has mixed.test
  reload();
  client.send(inner("mixed.test", "/x"));
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 403);
  EXPECT_NE(field_of(head, "Proxy-Status").find("destination_ip_prohibited"), std::string::npos) << head;
  up.expect_end();
}

// To port 80 nothing goes but HTTP/1 and TLS. The parent plays the far end, since nobody here listens on port 80.
TEST_F(InsideTunnel, PortEightyCarriesHttpOrNothing) {
  given.settings.upstream.parent = origin.authority();
  const auto open = [&] {
    auto [client, up, asked] = exchange(connect_to("ok.test:80"));
    up.send("HTTP/1.1 200 OK\r\n\r\n");
    client.read_head();
    return Tunnel{std::move(client), std::move(up)};
  };
  for (const std::string text : {"hello\r\n", "\x05", "SSH-2.0-x\r\n", "OPTIONS rtsp://x RTSP/1.0\r\n"}) {
    auto made = open();
    made.client.send_in_pieces(text, 1);
    made.client.expect_end();
    made.server.expect_end();
  }
  for (const std::string text : {"GET bad", "hello", "GET", "\r\n", " GET /bad"}) {
    auto made = open();
    made.client.send(text);
    made.client.shut_write();
    made.server.expect_end();  // and has seen nothing
    made.client.read_to_end();
  }
  auto brewing = open();
  brewing.client.send_in_pieces("brew /x HTTP/1.1\r\nHost: ok.test\r\n\r\n", 1);
  EXPECT_TRUE(brewing.server.read_head().starts_with("brew /x HTTP/1.1\r\n"));
  auto made = open();
  made.server.send("220 ready\r\n");
  made.client.expect_end();
  // An octet that may begin the ClientHello of SSLv2 is held back; what the far end says meanwhile opens nothing.
  auto old = open();
  old.client.send("\x80");
  EXPECT_TRUE(old.server.is_quiet_for(std::chrono::milliseconds(20)));
  old.server.send("220 ready\r\n");
  old.client.expect("220 ready\r\n");
  old.client.send("no hello\r\n");
  old.client.expect_end();
  old.server.expect_end();
}

}  // namespace
}  // namespace bloomwall::test
