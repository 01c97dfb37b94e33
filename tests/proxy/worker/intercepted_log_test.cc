// What is logged and counted of an intercepted connection: one line of its CONNECT, whatever becomes of it, and each
// outcome once.
// SPDX-License-Identifier: Apache-2.0
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "proxy/tls/certificates.h"
#include "proxy/tls/pem_files.h"
#include "tests/proxy/worker/inspection_fixture.h"
#include "tests/support/test_authority.h"

namespace bloomwall::test {
namespace {

using nlohmann::json;
using proxy::InterceptionFailure;
using proxy::TlsSide;

class InterceptedLog : public InspectionTest {
 protected:
  InterceptedLog() { given.logged = true; }

  std::vector<json> connect_lines() {
    std::vector<json> lines;
    const std::string text = log_text();
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      json line = json::parse(text.substr(begin, end - begin));
      if (line["proxy_type"] == "connect") lines.push_back(std::move(line));
    }
    return lines;
  }
  // The only one, once it is there.
  json connect_line() {
    wait_until([&] { return !connect_lines().empty(); });
    const auto lines = connect_lines();
    EXPECT_EQ(lines.size(), 1U) << log_text();
    return lines.front();
  }
  struct Handshakes {
    std::uint64_t done, resumed, failed, timed;
    friend bool operator==(const Handshakes&, const Handshakes&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Handshakes& h) {
      return out << h.done << ' ' << h.resumed << ' ' << h.failed << ' ' << h.timed;
    }
  };
  Handshakes handshakes(TlsSide side) {
    const auto sum = counters();
    const proxy::HandshakeCounts& of = sum->tls.of(side);
    std::uint64_t timed = 0;
    for (const proxy::Count& count : of.seconds) timed += count.get();
    return {of.done[0].get(), of.done[1].get(), of.failed.get(), timed};
  }
  std::uint64_t failures(InterceptionFailure reason) {
    return counters()->tls.failures[static_cast<std::size_t>(reason)].get();
  }
  std::uint64_t all_failures() {
    std::uint64_t sum = 0;
    const auto now = counters();
    for (const proxy::Count& count : now->tls.failures) sum += count.get();
    return sum;
  }
  std::uint64_t certificate_errors(proxy::CertificateError error) {
    return counters()->tls.certificate_errors[static_cast<std::size_t>(error)].get();
  }
};

TEST_F(InterceptedLog, HasBothSidesOfTls) {
  auto [client, server] = intercept();
  client.send(inner(at("ok.test"), "/x"));
  server.read_head();
  answer(server, client, "x");
  const json line = connect_line();
  EXPECT_EQ(line["tls_action"], "intercepted");
  EXPECT_EQ(line["tls_reason"], "all");
  EXPECT_EQ(line["tls_client"], "1.3");
  EXPECT_EQ(line["tls_origin"], "1.3");
  EXPECT_EQ(line["sni"], "ok.test");
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["id"].get<std::string>().size(), 16U);
  wait_until([&] { return log_text().find("https_in_tunnel") != std::string::npos; });
  EXPECT_NE(log_text().find("\"in\":\"" + line["id"].get<std::string>() + "\""), std::string::npos) << log_text();
  EXPECT_FALSE(line.contains("in"));
  for (const char* absent :
       {"tls_client_resumed", "tls_origin_resumed", "tls_client_alert", "tls_origin_alert", "tls_error"}) {
    EXPECT_FALSE(line.contains(absent)) << absent;
  }
  EXPECT_EQ(handshakes(TlsSide::client), (Handshakes{1, 0, 0, 1}));
  EXPECT_EQ(handshakes(TlsSide::origin), (Handshakes{1, 0, 0, 1}));
  EXPECT_EQ(all_failures(), 0U);
}

TEST_F(InterceptedLog, SaysThatASessionWithTheOriginWasResumed) {
  for (int i = 0; i < 2; ++i) {
    auto [client, server] = intercept();
    client.send(inner(at("ok.test"), "/x"));
    server.read_head();
    answer(server, client, "x");  // its ticket has come by then
  }
  wait_until([&] { return connect_lines().size() == 2; });
  EXPECT_FALSE(connect_lines()[0].contains("tls_origin_resumed"));
  EXPECT_EQ(connect_lines()[1].value("tls_origin_resumed", false), true) << log_text();
  EXPECT_EQ(handshakes(TlsSide::origin), (Handshakes{1, 1, 0, 2}));
}

TEST_F(InterceptedLog, NamesWhatIsWrongWithTheOrigin) {
  auto [client_socket, server_socket] = tunnel("mixed.test");  // the certificate is for ok.test
  TlsPeer client = hello(std::move(client_socket), "mixed.test");
  TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
  EXPECT_THROW(server.shake_hands(), std::runtime_error);
  client.shake_hands();
  client.send(inner(at("mixed.test")));
  EXPECT_EQ(status_of(read_answer(client).head), 502);
  const json line = connect_line();
  EXPECT_EQ(line["tls_error"], "wrong_name");
  EXPECT_EQ(line["tls_client"], "1.3");
  EXPECT_FALSE(line.contains("tls_origin"));
  EXPECT_EQ(handshakes(TlsSide::origin), (Handshakes{0, 0, 1, 0}));
  EXPECT_EQ(handshakes(TlsSide::client), (Handshakes{1, 0, 0, 1}));
  for (const proxy::CertificateError error : proxy::kCertificateErrors) {
    EXPECT_EQ(certificate_errors(error), error == proxy::CertificateError::wrong_name ? 1U : 0U) << to_string(error);
  }
}

TEST_F(InterceptedLog, NamesTheAlertOfAnOriginAndOfAClient) {
  auto [client_socket, server_socket] = tunnel();
  const auto stranger = *proxy::TlsContext::for_peers(files_.certificate);
  TlsPeer client(std::move(client_socket), proxy::TlsSession::connect(*stranger, "ok.test"));
  const std::string kHandshakeFailure("\x15\x03\x03\x00\x02\x02\x28", 7);  // alert 40
  server_socket.send(kHandshakeFailure);
  EXPECT_THROW(client.shake_hands(), std::runtime_error) << "it does not know the authority";
  const json line = connect_line();
  EXPECT_EQ(line["tls_origin_alert"], 40);
  EXPECT_EQ(line["tls_client_alert"], 48);
  EXPECT_TRUE(line["tls_error"].get<std::string>().starts_with(
      "the origin takes no cipher, group or signature that is offered (alert handshake_failure); "))
      << "the first reason";
  EXPECT_EQ(handshakes(TlsSide::client), (Handshakes{0, 0, 1, 0}));
  EXPECT_EQ(handshakes(TlsSide::origin), (Handshakes{0, 0, 1, 0}));
}

TEST_F(InterceptedLog, HasOneLineWhereAnOriginIsLeftToItsClient) {
  given.settings.tls_inspection.on_bad_certificate = conf::TlsInspection::OnBadCertificate::pass;
  const TestCertificate other = make_certificate(dir.path(), "other", "elsewhere.test");
  const auto serving_other = *proxy::TlsContext::for_listener(other.certificate, other.key);
  const auto trusting_other = *proxy::TlsContext::for_peers(other.certificate);
  auto [client_socket, server_socket] = tunnel();
  TlsPeer client(std::move(client_socket), proxy::TlsSession::connect(*trusting_other, "elsewhere.test"));
  TlsPeer refused(std::move(server_socket), proxy::TlsSession::accept(*serving_other));
  EXPECT_THROW(refused.shake_hands(), std::runtime_error);
  TlsPeer server(origin.accept(), proxy::TlsSession::accept(*serving_other));
  const auto shaken = std::async(std::launch::async, [&client] { client.shake_hands(); });
  server.shake_hands();
  shaken.wait();
  client.send("through");
  server.expect("through");
  EXPECT_TRUE(connect_lines().empty()) << "it is open";
  server.end();
  server.socket().close();
  client.expect_end();
  client.socket().close();
  const json line = connect_line();
  EXPECT_EQ(line["tls_action"], "tunnelled");
  EXPECT_EQ(line["tls_reason"], "all");
  EXPECT_EQ(counter(&Counters::tls_interceptions_undone_total), 1U);
  EXPECT_EQ(all_failures(), 0U);
}

// What only the operator knows of a certificate, the client would not warn of.
TEST_F(InterceptedLog, AnOriginWithADistrustedKeyIsNotLeftToItsClient) {
  given.settings.tls_inspection.on_bad_certificate = conf::TlsInspection::OnBadCertificate::pass;
  const auto certificates = proxy::read_certificates(files_.certificate);
  ASSERT_TRUE(certificates.has_value()) << certificates.error();
  given.settings.tls_inspection.verify.distrust = {hex_key_hash(certificates->front().get())};
  auto [client_socket, server_socket] = tunnel();
  TlsPeer client = hello(std::move(client_socket));
  TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
  EXPECT_THROW(server.shake_hands(), std::runtime_error);
  client.shake_hands();
  client.send(inner(at("ok.test")));
  EXPECT_EQ(status_of(read_answer(client).head), 502);
  EXPECT_EQ(connect_line()["tls_error"], "distrusted");
}

TEST_F(InterceptedLog, CountsAClientThatLeaves) {
  auto [client, server] = tunnel();  // whose origin says nothing
  TlsPeer tls = hello(std::move(client));
  wait_for_counter(&Counters::tls_handshakes_active, 1);
  tls.socket().reset();
  wait_until([&] { return failures(InterceptionFailure::client_left) == 1; });
  wait_for_counter(&Counters::tls_handshakes_active, 0);
  EXPECT_EQ(connect_line()["tls_error"], "the client left");
  EXPECT_EQ(all_failures(), 1U);
}

TEST_F(InterceptedLog, CountsAClientThatAsksForTooManyHosts) {
  given.settings.limits.leaves_per_client = 1;
  std::uint64_t refused = 0;
  for (const char* host : {"ok.test", "mixed.test", "blocked.test", "sub.blocked.test"}) {
    auto [client, server] = tunnel(host);
    TlsPeer tls = hello(std::move(client), host);
    server.close();
    try {
      tls.shake_hands();
    } catch (const std::runtime_error&) {
      ++refused;
    }
  }
  EXPECT_GE(refused, 1U);
  wait_until([&] { return failures(InterceptionFailure::client_rate) == refused; });
  EXPECT_EQ(all_failures(), refused);
}

TEST_F(InterceptedLog, CountsWhoCameBeyondTheLimitOfHandshakes) {
  given.settings.limits.handshakes = 1;
  auto [first, first_server] = tunnel();
  TlsPeer waiting = hello(std::move(first));
  wait_for_counter(&Counters::tls_handshakes_active, 1);
  auto [second, second_server] = tunnel();
  TlsPeer refused = hello(std::move(second));
  EXPECT_THROW(refused.shake_hands(), std::runtime_error);
  EXPECT_EQ(failures(InterceptionFailure::handshakes), 1U);
  EXPECT_EQ(connect_line()["tls_error"], "limits.handshakes");
}

TEST_F(InterceptedLog, WhoWaitsToSayHelloTakesNobodysPlace) {
  given.list = "blocked.test\n";
  given.settings.limits.handshakes = 1;
  const auto show_page = [&] {
    auto client = new_client("CONNECT " + at("blocked.test") + " HTTP/1.1\r\nHost: " + at("blocked.test") +
                             "\r\nUser-Agent: Mozilla/5.0\r\n\r\n");
    EXPECT_EQ(status_of(client.read_head()), 200);
    return client;
  };
  const auto silent = show_page(), as_silent = show_page();
  wait_for_counter(&Counters::tls_handshakes_active, 2);
  auto [client, server] = intercept();
  client.send(inner(at("ok.test"), "/x"));
  server.read_head();
  answer(server, client, "x");
  EXPECT_EQ(all_failures(), 0U);
}

TEST_F(InterceptedLog, CountsWhomAutoPassLetsPass) {
  conf::AutoPass& rules = given.settings.tls_inspection.auto_pass;
  rules.hosts = conf::AutoPass::Hosts::unmarked;
  rules.after = 1;
  rules.devices = true;
  {
    auto [client_socket, server_socket] = tunnel();
    const auto stranger = *proxy::TlsContext::for_peers(files_.certificate);
    TlsPeer client(std::move(client_socket), proxy::TlsSession::connect(*stranger, "ok.test"));
    TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
    server.shake_hands();
    EXPECT_THROW(client.shake_hands(), std::runtime_error);
  }
  wait_for_counter(&Counters::auto_pass_entries, 1);
  reload();
  EXPECT_EQ(counter(&Counters::auto_pass_entries), 0U) << "which forgets them";
}

TEST_F(InterceptedLog, OfAPageHasTheClientsTls) {
  given.list = "blocked.test\n";
  auto client_socket = new_client("CONNECT " + at("blocked.test") + " HTTP/1.1\r\nHost: " + at("blocked.test") +
                                  "\r\nUser-Agent: Mozilla/5.0\r\n\r\n");
  EXPECT_EQ(status_of(client_socket.read_head()), 200);
  TlsPeer client = hello(std::move(client_socket), "blocked.test");
  client.shake_hands();
  client.send(inner(at("blocked.test"), "/page"));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  client.send(inner(at("blocked.test"), "/favicon.ico"));
  EXPECT_EQ(status_of(read_answer(client).head), 403) << "each request is judged, and answered here";
  const json line = connect_line();
  EXPECT_EQ(line["tls_action"], "page");
  EXPECT_EQ(line["decision"], "blocked");
  EXPECT_EQ(line["filter"], "testlist");
  EXPECT_EQ(line["tls_client"], "1.3");
  EXPECT_FALSE(line.contains("tls_origin"));
  EXPECT_FALSE(line["id"].get<std::string>().empty());
}

TEST_F(InterceptedLog, APageOfWhatIsNotBlockedAnyMoreLetsItsClientComeAgain) {
  given.list = "blocked.test\n";
  auto client_socket = new_client("CONNECT " + at("blocked.test") + " HTTP/1.1\r\nHost: " + at("blocked.test") +
                                  "\r\nUser-Agent: Mozilla/5.0\r\n\r\n");
  EXPECT_EQ(status_of(client_socket.read_head()), 200);
  TlsPeer client = hello(std::move(client_socket), "blocked.test");
  client.shake_hands();
  client.send(inner(at("blocked.test"), "/page"));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  given.list = "other.test\n";
  reload();
  client.send(inner(at("blocked.test"), "/page"));
  EXPECT_EQ(client.read_to_end(), "") << "as an idle connection that has ended";
}

TEST_F(InterceptedLog, OfAPageNobodyTookSaysSo) {
  given.list = "blocked.test\n";
  auto client = new_client("CONNECT " + at("blocked.test") + " HTTP/1.1\r\nHost: " + at("blocked.test") +
                           "\r\nUser-Agent: Mozilla/5.0\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.send("no TLS");
  client.expect_end();
  EXPECT_EQ(connect_line()["tls_error"], "no ClientHello");
  EXPECT_EQ(failures(InterceptionFailure::no_hello), 1U);
}

TEST_F(InterceptedLog, OfAPageNobodyAskedForInTimeSaysSo) {
  given.list = "blocked.test\n";
  given.settings.timeouts.request_header = Milliseconds(50);
  auto client = new_client("CONNECT " + at("blocked.test") + " HTTP/1.1\r\nHost: " + at("blocked.test") +
                           "\r\nUser-Agent: Mozilla/5.0\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 200);
  client.expect_end();
  EXPECT_EQ(connect_line()["tls_error"], "the ClientHello was too slow");
  EXPECT_EQ(failures(InterceptionFailure::no_hello), 1U);
  EXPECT_EQ(all_failures(), 1U);
}

}  // namespace
}  // namespace bloomwall::test
