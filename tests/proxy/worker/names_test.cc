// A URL that is listed under one name of a connection stays blocked under every other (name_of.h), on real connections
// and over HTTP/2. The table of all doors and names is in decision_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "tests/filter/policy/policy_maker.h"
#include "tests/proxy/worker/http2_fixture.h"
#include "tests/proxy/worker/inspection_fixture.h"

namespace bloomwall::test {
namespace {

class SecondName : public InspectionTest {
 protected:
  SecondName() {
    given.logged = true;
    given.list = "http://mixed.test/bad/\n";
    given.settings.tls_inspection.mode = conf::TlsInspection::Mode::urls;
  }
};

TEST_F(SecondName, WhatConnectNamedIsAskedUnderAnotherServerName) {
  auto [client_socket, server_socket] = tunnel("mixed.test");
  TlsPeer client = hello(std::move(client_socket), "ok.test");
  TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
  server.shake_hands();
  client.shake_hands();
  client.send(inner(at("ok.test"), "/bad/x"));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  client.send(inner(at("ok.test"), "/fine"));
  EXPECT_TRUE(server.read_head().starts_with("GET /fine HTTP/1.1")) << "and nothing else";
  answer(server, client, "x");
  const std::string log = log_text();
  EXPECT_NE(log.find(R"("expression":"mixed.test/bad/","asked_as":"connect")"), std::string::npos) << log;
}

TEST_F(SecondName, WhatConnectNamedIsAskedInPlainHttp) {
  auto open = tunnel("mixed.test");
  open.client.send(inner(at("ok.test"), "/bad/x"));
  EXPECT_EQ(status_of(read_answer(open.client).head), 403);
  open.client.send(inner(at("ok.test"), "/fine"));
  EXPECT_TRUE(open.server.read_head().starts_with("GET /fine HTTP/1.1"));
  answer(open.server, open.client, "x");
  const std::string log = log_text();
  EXPECT_NE(log.find(R"("expression":"mixed.test/bad/","asked_as":"connect")"), std::string::npos) << log;
}

}  // namespace
}  // namespace bloomwall::test

namespace bloomwall::proxy {
namespace {

class Http2Names : public Http2Sessions {
 protected:
  std::string asked_for(const std::string& path) {
    RecordedStream& get = ask(path);
    turn_until([&] { return !get.heads.empty() || origin_.end.requests > 0; });
    return get.heads.empty() ? "forwarded" : get.heads[0].substr(0, get.heads[0].find(';'));
  }
};

TEST_F(Http2Names, TheOtherNamesAreAskedAsWell) {
  const filter::PolicyMaker made({{.name = "bad", .entries = {"D connected.test/a/", "D 192.0.2.5/b/"}}},
                                 "origin.test\n");
  policy_ = made.policy;
  auto inside = ClientInfo::Inside{.host = "origin.test", .port = 443, .scheme = Scheme::https};
  inside.authority = "connected.test";
  info_.inside = std::make_unique<const ClientInfo::Inside>(std::move(inside));
  info_.destination = std::make_unique<const ClientInfo::Destination>(
      ClientInfo::Destination{*Endpoint::parse_ip("192.0.2.5", 443), "192.0.2.5"});
  EXPECT_EQ(asked_for("/a/x"), ":status=403");
  EXPECT_EQ(asked_for("/b/x"), ":status=403");
  EXPECT_EQ(asked_for("/c/x"), "forwarded");
}

}  // namespace
}  // namespace bloomwall::proxy
