// The parent proxy: credentials, TLS, and hosts that do without it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "proxy/net/parent_proxy.h"
#include "tests/proxy/net/proxy_harness.h"
#include "tests/proxy/net/tls_peer.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::test {
namespace {

using proxy::BypassList;
using proxy::ParentProxy;
using proxy::TlsContext;
using proxy::TlsSession;

TEST(Bypass, HoldsDomainsWithWhatIsBelowAndNetworks) {
  const auto list = BypassList::build({"example.com", "INTRANET", "10.0.0.0/8", "2001:db8::/32", "192.0.2.7"});
  ASSERT_TRUE(list.has_value()) << list.error();
  for (const char* host : {"example.com", "a.example.com", "a.b.example.com", "intranet", "wiki.intranet", "10.1.2.3",
                           "[2001:db8::1]", "192.0.2.7"}) {
    EXPECT_TRUE(list->contains(host)) << host;
  }
  for (const char* host :
       {"com", "notexample.com", "example.com.org", "intranet.org", "11.0.0.1", "[2001:db9::1]", "192.0.2.8", ""}) {
    EXPECT_FALSE(list->contains(host)) << host;
  }
  EXPECT_EQ(BypassList::build({"10.0.0.0/99"}).error(), "10.0.0.0/99");
  EXPECT_FALSE(BypassList::build({})->contains("example.com"));
}

TEST(ParentProxy, SaysWhichFileIsWrong) {
  TempDir dir;
  conf::Upstream upstream;
  EXPECT_FALSE(ParentProxy::compile(upstream)->has_value());
  upstream.parent = "[::1]:3128";
  EXPECT_EQ((*ParentProxy::compile(upstream))->host, "::1");
  for (const std::string& text : {std::string("nobody"), std::string("a:b\nc:d\n"), std::string(":x"), std::string(),
                                  "a:" + std::string(2000, 'x'), std::string("a:\x01")}) {
    upstream.credentials_file = dir.write("credentials", text);
    const auto made = ParentProxy::compile(upstream);
    ASSERT_FALSE(made.has_value()) << text;
    EXPECT_TRUE(made.error().starts_with("upstream.credentials_file: " + upstream.credentials_file.string()))
        << made.error();
  }
  upstream.credentials_file = dir.path() / "missing";
  EXPECT_FALSE(ParentProxy::compile(upstream).has_value());
  upstream.credentials_file = dir.write("credentials", "Aladdin:open sesame\r\n");
  EXPECT_EQ((*ParentProxy::compile(upstream))->authorization, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==") << "RFC 7617";
  upstream.tls = true;
  upstream.ca_file = dir.path() / "missing";
  EXPECT_TRUE(ParentProxy::compile(upstream).error().starts_with("upstream.ca_file: "));
}

class Parent : public ::testing::Test {
 protected:
  HarnessOptions options() const {
    HarnessOptions options;
    options.settings.upstream.parent = parent_.authority();
    options.settings.upstream.credentials_file = dir_.write("credentials", "proxy:secret\n");
    return options;
  }
  HarnessOptions secured() const {
    HarnessOptions with = options();
    with.settings.upstream.tls = true;
    with.settings.upstream.ca_file = files_.certificate;
    return with;
  }
  TlsPeer accept_tls() { return {parent_.accept(), TlsSession::accept(**context_)}; }

  TempDir dir_;
  TestCertificate files_ = make_certificate(dir_.path(), "parent", "parent.test");
  TlsContext::Made context_ = TlsContext::for_listener(files_.certificate, files_.key);
  ScriptedListener parent_;
};

TEST_F(Parent, IsSentOurCredentialsAndNotTheClients) {
  ProxyHarness proxy(options());
  for (const std::string& text : {get("far.example", "/", "Proxy-Authorization: Basic bWU6bWU=\r\n"),
                                  std::string("CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n"
                                              "Proxy-Authorization: Basic bWU6bWU=\r\n\r\n")}) {
    auto client = proxy.client();
    client.send(text);
    const std::string head = parent_.accept().read_head();
    EXPECT_EQ(field_of(head, "Proxy-Authorization"), "Basic cHJveHk6c2VjcmV0") << head;
    EXPECT_EQ(head.find("bWU6bWU="), std::string::npos) << head;
  }
}

// The client must not be asked for a password to a proxy that it does not know of.
TEST_F(Parent, ThatDoesNotTakeOurCredentialsIsABadGateway) {
  ProxyHarness proxy(options());
  auto client = proxy.client();
  for (const std::string& text : {get("far.example"), connect_to("far.example:443")}) {
    client.send(text);
    auto up = parent_.accept();
    up.read_head();
    up.send(
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\n"
        "Content-Length: 2\r\n\r\nno");
    const std::string head = client.read_head();
    EXPECT_EQ(status_of(head), 502) << head;
    EXPECT_EQ(field_of(head, "Proxy-Authenticate"), "");
    EXPECT_NE(field_of(head, "Proxy-Status").find("proxy_configuration_error"), std::string::npos) << head;
    client.read_exactly(std::stoul(field_of(head, "Content-Length")));
  }
  client.expect_end();  // after a CONNECT that failed nobody knows what the client says next
}

TEST_F(Parent, IsLeftOutForWhatTheBypassHolds) {
  ScriptedListener origin;
  HarnessOptions with = options();
  with.settings.upstream.bypass = {"test", "127.0.0.0/8"};
  ProxyHarness proxy(std::move(with));
  for (const std::string& host : {std::string("ok.test"), std::string("127.0.0.1")}) {
    auto client = proxy.client();
    client.send(get(host + ":" + std::to_string(origin.port()), "/direct"));
    const std::string head = origin.accept().read_head();
    EXPECT_TRUE(head.starts_with("GET /direct HTTP/1.1")) << head;
    EXPECT_EQ(field_of(head, "Proxy-Authorization"), "") << "nobody else learns it";
  }
  auto client = proxy.client();
  client.send(get("far.example", "/via"));
  EXPECT_TRUE(parent_.accept().read_head().starts_with("GET http://far.example/via "));
}

TEST_F(Parent, CarriesRequestsInTlsAndIsKept) {
  ProxyHarness proxy(secured());
  auto client = proxy.client();
  client.send(get("far.example", "/1"));
  TlsPeer up = accept_tls();
  EXPECT_TRUE(up.read_head().starts_with("GET http://far.example/1 "));
  up.send(ok("one"));
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("one");
  const std::string body(300'000, 'u');
  client.send(request("POST", "far.example", "/2", "Content-Length: " + std::to_string(body.size()) + "\r\n", body));
  TlsPeer second = accept_tls();  // what cannot be sent again goes out on a connection of its own
  second.read_head();
  EXPECT_EQ(second.read_exactly(body.size()), body);
  second.send(ok("two"));
  client.read_head();
  client.expect("two");
  client.send(get("far.example", "/3"));
  EXPECT_TRUE(second.read_head().starts_with("GET http://far.example/3 "));
}

TEST_F(Parent, CarriesTunnelsInTls) {
  ProxyHarness proxy(secured());
  auto client = proxy.client();
  client.send(connect_to("far.example:443") + "early");
  TlsPeer up = accept_tls();
  EXPECT_TRUE(up.read_head().starts_with("CONNECT far.example:443 "));
  up.send("HTTP/1.1 200 OK\r\n\r\nfirst");
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect("first");
  EXPECT_EQ(up.read_exactly(5), "early");
  up.send("last");
  up.end();
  client.expect("last");
  client.expect_end();
}

void expect_no_tls(ScriptedPeer& client) {
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 502) << head;
  EXPECT_NE(field_of(head, "Proxy-Status").find("tls_protocol_error"), std::string::npos) << head;
}

TEST_F(Parent, ThatCannotProveWhoItIsIsToldNothing) {
  const auto stranger = make_certificate(dir_.path(), "stranger", "parent.test");
  context_ = TlsContext::for_listener(stranger.certificate, stranger.key);
  ProxyHarness proxy(secured());
  auto client = proxy.client();
  client.send(get("far.example"));
  TlsPeer up = accept_tls();
  EXPECT_EQ(up.read_to_end(), "");
  expect_no_tls(client);
}

TEST_F(Parent, ThatSpeaksNoTlsIsABadGateway) {
  ProxyHarness proxy(secured());
  auto client = proxy.client();
  client.send(get("far.example"));
  auto up = parent_.accept();
  up.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  expect_no_tls(client);
}

// Without close_notify anybody could have ended it.
TEST_F(Parent, AnAnswerThatIsCutIsNotWhole) {
  ProxyHarness proxy(secured());
  auto client = proxy.client();
  client.send(get("far.example"));
  TlsPeer up = accept_tls();
  up.read_head();
  up.send("HTTP/1.1 200 OK\r\n\r\nhalf of it");
  EXPECT_EQ(status_of(client.read_head()), 200);
  up.socket().close();
  EXPECT_EQ(client.read_until("\r\n"), "a\r\n");
  EXPECT_EQ(client.read_to_end(), "half of it\r\n") << "no last chunk";
}

}  // namespace
}  // namespace bloomwall::test
