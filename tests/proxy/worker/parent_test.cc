// The parent proxy: credentials, TLS, and hosts that do without it.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "proxy/upstream/parent_proxy.h"
#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/proxy/worker/tls_peer.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
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

// The origin of these tests plays the parent.
class Parent : public ProxyTest {
 protected:
  Parent() {
    given.settings.upstream.parent = origin.authority();
    given.settings.upstream.credentials_file = dir.write("credentials", "proxy:secret\n");
  }
};

class TlsParent : public Parent {
 protected:
  TlsParent() {
    given.settings.upstream.tls = true;
    given.settings.upstream.ca_file = files_.certificate;
  }
  TlsPeer accept_tls() { return {origin.accept(), TlsSession::accept(**context_)}; }

  TestCertificate files_ = make_certificate(dir.path(), "parent", "parent.test");
  TlsContext::Made context_ = TlsContext::for_listener(files_.certificate, files_.key);
};

TEST_F(Parent, IsSentOurCredentialsAndNotTheClients) {
  const std::string theirs = "Proxy-Authorization: Basic bWU6bWU=\r\n";
  for (const std::string& text : {get("far.example", "/", theirs), connect_to("far.example:443", theirs)}) {
    const std::string head = exchange(text).asked;
    EXPECT_EQ(field_of(head, "Proxy-Authorization"), "Basic cHJveHk6c2VjcmV0") << head;
    EXPECT_EQ(head.find("bWU6bWU="), std::string::npos) << head;
  }
}

// The client must not be asked for a password to a proxy that it does not know of.
TEST_F(Parent, ThatDoesNotTakeOurCredentialsIsABadGateway) {
  auto client = new_client();
  for (const std::string& text : {get("far.example"), connect_to("far.example:443")}) {
    client.send(text);
    auto up = origin.accept();
    up.read_head();
    up.send(
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"p\"\r\n"
        "Content-Length: 2\r\n\r\nno");
    const std::string head = read_answer(client).head;
    EXPECT_EQ(status_of(head), 502) << head;
    EXPECT_EQ(field_of(head, "Proxy-Authenticate"), "");
    EXPECT_NE(field_of(head, "Proxy-Status").find("proxy_configuration_error"), std::string::npos) << head;
  }
  client.expect_end();  // after a CONNECT that failed nobody knows what the client says next
}

TEST_F(Parent, IsNotSentWhereNobodyMayGo) {
  given.settings.access.deny_destinations = {"link_local", "private"};
  given.settings.dns.hosts["inside.example"] = "10.1.2.3";
  for (const std::string& text : {get("169.254.169.254"), connect_to("169.254.169.254:443"), get("inside.example"),
                                  connect_to("[fe80::1]:443")}) {
    const std::string head = reply_to(text);
    EXPECT_EQ(status_of(head), 403) << text;
    EXPECT_NE(field_of(head, "Proxy-Status").find("destination_ip_prohibited"), std::string::npos) << head;
  }
  EXPECT_TRUE(exchange(get("far.example")).asked.starts_with("GET http://far.example/ "));
}

TEST_F(Parent, OfAConnectionThatClientsCredentialsSpeakForIsNobodyElses) {
  given.settings.upstream.credentials_file.clear();
  for (const char* name : {"Proxy-Authorization", "Authorization"}) {
    auto [client, up, asked] = exchange(get("far.example", "/", std::string(name) + ": Negotiate YIIabc\r\n"));
    EXPECT_EQ(field_of(asked, name), "Negotiate YIIabc") << asked;
    answer(up, client, "x");
    auto other = new_client(get("far.example"));
    auto next = origin.accept();
    next.read_head();
    answer(next, other, "x");
    next.close();
    client.close();
    up.expect_end();
  }
  auto [client, up, asked] = exchange(get("far.example", "/", "Proxy-Authorization: Basic YTpi\r\n"));
  answer(up, client, "x");
  rest(up);
}

// A page of the parent's would be read as one of the origin's.
TEST_F(Parent, ThatRefusesATunnelDoesNotSpeakForTheOrigin) {
  for (const std::string status : {"302 Found", "403 Forbidden", "502 Bad Gateway"}) {
    auto client = new_client(connect_to("far.example:443"));
    auto up = origin.accept();
    up.read_head();
    up.send(std::string("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 ") + status +
            "\r\nLocation: http://evil.example/\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\nevil");
    const std::string head = client.read_head();
    EXPECT_EQ(status_of(head), status.starts_with("403") ? 403 : 502) << head;
    EXPECT_EQ(field_of(head, "Location") + field_of(head, "Set-Cookie"), "") << head;
    EXPECT_EQ(client.read_to_end().find("evil"), std::string::npos);
  }
}

TEST_F(Parent, ThatRefusesATunnelSaysWhy) {
  given.logged = true;
  const auto refused = [this](const std::string& answer) {
    auto client = new_client(connect_to("far.example:443"));
    auto up = origin.accept();
    up.read_head();
    up.send("HTTP/1.1 " + answer + "Content-Length: 0\r\n\r\n");
    return client.read_head();
  };
  const std::string blocked = refused(
      "403 Blocked by filter ads, decision 7Q2\r\n"
      "Proxy-Status: up.example; error=http_request_denied; details=\"filter ads, \\\"x\\\"\"\r\n");
  EXPECT_TRUE(blocked.starts_with("HTTP/1.1 403 Blocked by filter ads, decision 7Q2\r\n")) << blocked;
  EXPECT_TRUE(field_of(blocked, "Proxy-Status")
                  .starts_with("up.example; error=http_request_denied; details=\"filter ads, \\\"x\\\"\", "
                               "bloomwall; received-status=403; details=\"the parent proxy answered CONNECT with 4xx"))
      << blocked;
  for (const char* const status : {"404", "429", "451", "503", "504"}) {
    const std::string head = refused(std::string(status) + " \r\n");
    EXPECT_EQ(std::to_string(status_of(head)), status) << head;
    EXPECT_TRUE(field_of(head, "Proxy-Status").starts_with(std::string("bloomwall; received-status=") + status))
        << head;
  }
  // What is no list would make a part of it out of our own member.
  const std::string broken = refused("403 No\r\nProxy-Status: up; details=\"no end\r\nProxy-Status: second\r\n");
  EXPECT_TRUE(field_of(broken, "Proxy-Status").starts_with("second, bloomwall; received-status=403")) << broken;
  const std::string other = refused("400 Bad Request\r\nProxy-Status: up; error=http_request_error\r\n");
  EXPECT_TRUE(other.starts_with("HTTP/1.1 502 ")) << other;
  EXPECT_TRUE(field_of(other, "Proxy-Status").starts_with("bloomwall; error=connection_refused")) << other;
  const std::string log = log_text();
  EXPECT_NE(log.find(R"("status":403)"), std::string::npos) << log;
  EXPECT_NE(log.find(R"("error":"parent_refused")"), std::string::npos) << log;
}

TEST_F(Parent, ThatOpensATunnelSaysNothingOfItsOwn) {
  auto [client, up, asked] = exchange(connect_to("far.example:443"));
  up.send(
      "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nLocation: http://evil.example/\r\n"
      "Set-Cookie: a=b\r\n\r\nfirst");
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 200) << head;
  EXPECT_EQ(field_of(head, "Location") + field_of(head, "Set-Cookie"), "") << head;
  client.expect("first");
}

TEST_F(Parent, IsLeftOutForWhatTheBypassHolds) {
  ScriptedListener direct;
  given.settings.upstream.bypass = {"test", "127.0.0.0/8"};
  for (const std::string host : {"ok.test", "127.0.0.1"}) {
    auto client = new_client(get(host + ":" + std::to_string(direct.port()), "/direct"));
    const std::string head = direct.accept().read_head();
    EXPECT_TRUE(head.starts_with("GET /direct HTTP/1.1")) << head;
    EXPECT_EQ(field_of(head, "Proxy-Authorization"), "") << "nobody else learns it";
  }
  EXPECT_TRUE(exchange(get("far.example", "/via")).asked.starts_with("GET http://far.example/via "));
}

TEST_F(TlsParent, CarriesRequestsAndIsKept) {
  auto client = new_client(get("far.example", "/1"));
  TlsPeer up = accept_tls();
  EXPECT_TRUE(up.read_head().starts_with("GET http://far.example/1 "));
  answer(up, client, "one");
  const std::string body(300'000, 'u');
  client.send(request("POST", "far.example", "/2", length_field(body.size()), body));
  up.read_head();
  EXPECT_EQ(up.read_exactly(body.size()), body);
  answer(up, client, "two");
  client.send(get("far.example", "/3"));
  EXPECT_TRUE(up.read_head().starts_with("GET http://far.example/3 "));
}

// What one origin sends too much must not reach who asks another: they share the parent, not a connection to it.
TEST_F(Parent, IsGivenAConnectionForEachOrigin) {
  auto client = new_client(get("far.example", "/1"));
  auto up = origin.accept();
  up.read_head();
  answer(up, client, "one");
  client.send(get("near.example", "/2"));
  auto second = origin.accept();
  EXPECT_TRUE(second.read_head().starts_with("GET http://near.example/2 "));
  answer(second, client, "two");
  rest(up);
  client.send(get("far.example", "/3"));
  EXPECT_TRUE(up.read_head().starts_with("GET http://far.example/3 "));
}

TEST_F(TlsParent, OctetsBeyondAnAnswerAreNobodysAnswer) {
  auto client = new_client(get("far.example", "/1"));
  TlsPeer up = accept_tls();
  up.read_head();
  up.send(ok("one") + ok("poison"));
  client.read_head();
  client.expect("one");
  EXPECT_EQ(up.read_to_end(), "");
  client.send(get("far.example", "/2"));
  TlsPeer fresh = accept_tls();
  fresh.read_head();
  answer(fresh, client, "two");
  EXPECT_EQ(fresh.read_to_end(), "") << "nothing of such an origin is kept";
  client.send(get("near.example", "/3"));
  TlsPeer other = accept_tls();
  other.read_head();
  answer(other, client, "three");
  other.send(ok("while it idles"));
  EXPECT_EQ(other.read_to_end(), "");
  EXPECT_EQ(counter(&Counters::upstream_surplus_total), 2U);
}

TEST_F(TlsParent, CarriesTunnels) {
  auto client = new_client(connect_to("far.example:443") + "early");
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

void expect_error(ScriptedPeer& client, int status, const char* why) {
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), status) << head;
  EXPECT_NE(field_of(head, "Proxy-Status").find(why), std::string::npos) << head;
}

TEST_F(TlsParent, ThatSaysNothingIsGivenUpWhenTheTimeToConnectIsOver) {
  given.settings.timeouts.connect = 300ms;
  auto client = new_client(get("far.example"));
  auto up = origin.accept();
  expect_error(client, 504, "no TLS with the parent proxy");
}

TEST_F(TlsParent, ThatCannotProveWhoItIsIsToldNothing) {
  const auto stranger = make_certificate(dir.path(), "stranger", "parent.test");
  context_ = TlsContext::for_listener(stranger.certificate, stranger.key);
  auto client = new_client(get("far.example"));
  TlsPeer up = accept_tls();
  EXPECT_EQ(up.read_to_end(), "");
  expect_error(client, 502, "tls_certificate_error");
}

// The reason is for the operator, once a minute, and not for each client.
TEST_F(TlsParent, ThatCannotProveWhoItIsIsToldOfInTheLog) {
  const auto stranger = make_certificate(dir.path(), "stranger", "parent.test");
  context_ = TlsContext::for_listener(stranger.certificate, stranger.key);
  the_proxy();
  testing::internal::CaptureStderr();  // where the log goes that nobody has opened
  for (int i = 0; i < 2; ++i) {
    auto client = new_client(get("far.example"));
    TlsPeer up = accept_tls();
    EXPECT_EQ(up.read_to_end(), "");
    EXPECT_EQ(status_of(client.read_head()), 502);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string begin = "parent " + origin.authority() + ": no TLS: ";
  const std::size_t at = said.find(begin);
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_NE(said.find("certificate", at), std::string::npos) << said;
  EXPECT_EQ(said.find(begin, at + 1), std::string::npos) << said;
}

TEST_F(TlsParent, ThatSpeaksNoneIsABadGateway) {
  auto client = new_client(get("far.example"));
  auto up = origin.accept();
  up.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  expect_error(client, 502, "tls_protocol_error");
}

// Without close_notify anybody could have ended it.
TEST_F(TlsParent, AnAnswerThatIsCutIsNotWhole) {
  auto client = new_client(get("far.example"));
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
