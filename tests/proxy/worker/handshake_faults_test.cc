// Handshakes that fail, with origins and with clients: each reason has words of its own, and on_failed_handshake leaves
// origins on which nothing is listed to their clients.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "tests/proxy/worker/inspection_fixture.h"

namespace bloomwall::test {
namespace {

using nlohmann::json;
using OnFailed = conf::TlsInspection::OnFailedHandshake;

constexpr const char* kWayOut = "; tls_inspection.on_failed_handshake or .never leaves it to its clients";

class HandshakeFaults : public InspectionTest {
 protected:
  HandshakeFaults() { given.logged = true; }
  json connect_line() {
    json found;
    wait_until([&] {
      const std::string log = log_text();
      for (std::size_t at = 0, end = 0; (end = log.find('\n', at)) != std::string::npos; at = end + 1) {
        json line = json::parse(log.substr(at, end - at));
        if (line.value("method", "") == "CONNECT") found = std::move(line);
      }
      return !found.is_null();
    });
    return found;
  }
  // What the page, Proxy-Status and the log say of an origin that does this.
  void expect_fault(const std::function<void(ScriptedPeer)>& origin_does, const std::string& what) {
    auto [client_socket, server_socket] = tunnel();
    TlsPeer client = hello(std::move(client_socket));
    origin_does(std::move(server_socket));
    client.shake_hands();
    client.send(inner(at("ok.test"), "/", "Accept: application/json\r\n"));
    const Answer answer = read_answer(client);
    EXPECT_EQ(status_of(answer.head), 502);
    EXPECT_NE(answer.head.find(what), std::string::npos) << answer.head;
    EXPECT_EQ(connect_line()["tls_error"], what);
  }
  std::function<void(ScriptedPeer)> serves(const std::function<void(SSL_CTX*)>& adjust) {
    return [this, adjust](ScriptedPeer socket) {
      const auto context = *proxy::TlsContext::for_listener(files_.certificate, files_.key);
      adjust(context->get());
      TlsPeer server(std::move(socket), proxy::TlsSession::accept(*context));
      EXPECT_THROW(server.shake_hands(), std::runtime_error);
    };
  }
  static std::function<void(ScriptedPeer)> says(const std::string& octets) {
    return [octets](ScriptedPeer socket) {
      socket.send(octets);
      socket.shut_write();
    };
  }
};

TEST_F(HandshakeFaults, AnOriginWithoutAuthenticatedCiphers) {
  expect_fault(serves([](SSL_CTX* context) {
                 SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
                 SSL_CTX_set_cipher_list(context, "ECDHE+AES+SHA1");
               }),
               std::string("the origin takes no cipher, group or signature that is offered (alert handshake_failure)") +
                   kWayOut);
}

TEST_F(HandshakeFaults, AnOriginOfAnOldVersion) {
  expect_fault(serves([](SSL_CTX* context) {
                 SSL_CTX_set_security_level(context, 0);
                 SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
                 SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
                 SSL_CTX_set_cipher_list(context, "ALL");
               }),
               std::string("the origin speaks neither TLS 1.2 nor 1.3 (alert protocol_version)") + kWayOut);
}

TEST_F(HandshakeFaults, AnOriginWithoutSecureRenegotiation) {
  const std::string hello("\x02\x00\x00\x26\x03\x03", 6);
  const std::string body = hello + std::string(32, 'r') + std::string("\x00\xc0\x2f\x00", 4);
  expect_fault(says(std::string("\x16\x03\x03\x00\x2a", 5) + body),
               std::string("the origin lacks secure renegotiation (RFC 5746)") + kWayOut);
}

TEST_F(HandshakeFaults, AnOriginThatSpeaksNoTls) {
  expect_fault(says("HTTP/1.1 400 Bad Request\r\n\r\n"), "the origin does not speak TLS on this port");
}

TEST_F(HandshakeFaults, AnOriginThatKnowsNoSuchName) {
  expect_fault(says(std::string("\x15\x03\x03\x00\x02\x02\x70", 7)),
               "the origin does not serve this name (alert unrecognized_name)");
}

TEST_F(HandshakeFaults, AnOriginThatGoesWithoutAWord) {
  expect_fault(says(""), std::string("the origin closed the connection in the handshake, without an alert") + kWayOut);
}

TEST_F(HandshakeFaults, AClientOfAnOldVersion) {
  auto [client_socket, server_socket] = tunnel();
  auto context = *proxy::TlsContext::for_peers(given.settings.tls_inspection.ca.certificate);
  SSL_CTX_set_security_level(context->get(), 0);
  SSL_CTX_set_min_proto_version(context->get(), TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context->get(), TLS1_1_VERSION);
  SSL_CTX_set_cipher_list(context->get(), "ALL");
  TlsPeer client(std::move(client_socket), proxy::TlsSession::connect(*context, "ok.test"));
  TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
  server.shake_hands();
  EXPECT_THROW(client.shake_hands(), std::runtime_error);
  EXPECT_EQ(connect_line()["tls_error"],
            "the client speaks neither TLS 1.2 nor 1.3; tls_inspection.never or .never_clients leaves it alone");
}

TEST_F(HandshakeFaults, AClientWithoutTheAuthority) {
  auto [client_socket, server_socket] = tunnel();
  const auto stranger = *proxy::TlsContext::for_peers(files_.certificate);
  TlsPeer client(std::move(client_socket), proxy::TlsSession::connect(*stranger, "ok.test"));
  TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
  server.shake_hands();
  EXPECT_THROW(client.shake_hands(), std::runtime_error);
  EXPECT_EQ(connect_line()["tls_error"],
            "the client does not know the authority of tls_inspection.ca (alert unknown_ca)");
}

// The client gets its own connection to the origin, and speaks what we do not.
TEST_F(HandshakeFaults, AreLeftToTheClientWhereNothingIsListed) {
  given.settings.tls_inspection.on_failed_handshake = OnFailed::pass;
  auto [client_socket, server_socket] = tunnel();
  const auto trusting = *proxy::TlsContext::for_peers(files_.certificate);
  SSL_CTX_set_cipher_list(trusting->get(), "ECDHE+AES+SHA1");
  TlsPeer client(std::move(client_socket), proxy::TlsSession::connect(*trusting, "ok.test"));
  const auto old = [](SSL_CTX* context) {
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "ECDHE+AES+SHA1");
  };
  serves(old)(std::move(server_socket));
  const auto context = *proxy::TlsContext::for_listener(files_.certificate, files_.key);
  old(context->get());
  TlsPeer server(origin.accept(), proxy::TlsSession::accept(*context));
  {
    const std::jthread serving([&server] { server.shake_hands(); });  // nobody is between them
    client.shake_hands();
  }
  EXPECT_EQ(counter(&Counters::tls_interceptions_undone_total), 1U);
  client.socket().close();
  server.socket().close();
  const json line = connect_line();
  EXPECT_EQ(line["tls_action"], "tunnelled");
  EXPECT_EQ(line["tls_reason"], "handshake");
}

TEST_F(HandshakeFaults, AreNotLeftToTheClientWhereUrlsAreListed) {
  given.settings.tls_inspection.on_failed_handshake = OnFailed::pass;
  given.list = "http://ok.test/listed\n";
  expect_fault(says(""), std::string("the origin closed the connection in the handshake, without an alert") + kWayOut);
}

}  // namespace
}  // namespace bloomwall::test
