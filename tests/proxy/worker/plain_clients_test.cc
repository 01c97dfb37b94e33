// Clients of other habits than browsers: old versions of curl, clients that take RSA certificates alone, and protocols
// in the guise of an old ClientHello.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

#include <functional>
#include <string>
#include <utility>

#include "tests/proxy/worker/inspection_fixture.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using OldCurl = ProxyTest;

TEST_F(OldCurl, OpensWebSocketsByTheirOwnScheme) {
  given.list = "http://127.0.0.1/listed\n";
  const auto opening = [this](const std::string& path) {
    return "GET ws://" + origin.authority() + path + " HTTP/1.1\r\nHost: " + origin.authority() +
           "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  };
  EXPECT_EQ(status_of(reply_to(opening("/listed"))), 403);
  EXPECT_EQ(status_of(reply_to("GET ws://" + origin.authority() + "/ HTTP/1.1\r\nHost: x\r\n\r\n")), 501);
  auto [client, server, asked] = exchange(opening("/socket"));
  EXPECT_TRUE(asked.starts_with("GET /socket ")) << asked;
  server.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 101);
  client.send("frames");
  server.expect("frames");
}

class RsaClient : public InspectionTest {
 protected:
  void expect_served(const std::function<void(SSL_CTX*)>& adjust) {
    auto [client_socket, server_socket] = tunnel();
    const auto context = *proxy::TlsContext::for_peers(given.settings.tls_inspection.ca.certificate);
    adjust(context->get());
    TlsPeer client(std::move(client_socket), proxy::TlsSession::connect(*context, "ok.test"));
    TlsPeer server(std::move(server_socket), proxy::TlsSession::accept(**serving_));
    server.shake_hands();
    client.shake_hands();
    EXPECT_EQ(EVP_PKEY_get_base_id(X509_get0_pubkey(client.session().peer_certificate())), EVP_PKEY_RSA);
    client.send(inner(at("ok.test"), "/x"));
    server.read_head();
    answer(server, client, "x");
  }
};

TEST_F(RsaClient, IsShownACertificateThatItTakes) {
  // The authority's own signature is ECDSA, which such clients verify in a certificate all the same.
  const auto by_suites = [](SSL_CTX* context) {
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "ECDHE-RSA-AES128-GCM-SHA256");
  };
  expect_served(by_suites);
  expect_served(by_suites);
}

class OldHello : public InspectionTest {
 protected:
  OldHello() { given.settings.access.opaque_tunnels = conf::Access::OpaqueTunnels::allow; }
  // WebRTC's "ssltcp".
  const std::string hello_ = std::string("\x80\x46\x01\x03\x01\x00\x2d\x00\x00\x00\x10\x01", 12) + std::string(60, 'x');
  void expect_cut() {
    auto [client, server] = tunnel("ok.test");
    client.send(hello_);
    client.expect_end();
    EXPECT_EQ(server.read_to_end(), "");
  }
};

TEST_F(OldHello, PassesWhereAnythingMay) {
  given.settings.tls_inspection.mode = conf::TlsInspection::Mode::urls;
  auto [client, server] = tunnel("ok.test");
  client.send(hello_);
  server.expect(hello_);
  server.send("and back");
  client.expect("and back");
}

TEST_F(OldHello, DoesNotPassWhereTlsMustNameItsHost) {
  given.settings.tls_inspection.mode = conf::TlsInspection::Mode::off;
  given.settings.access.no_sni = conf::Access::NoSni::deny;
  expect_cut();
}

TEST_F(OldHello, DoesNotPassToAHostThatIsDecrypted) { expect_cut(); }

TEST_F(OldHello, DoesNotPassByDefault) {
  given.settings.tls_inspection.mode = conf::TlsInspection::Mode::off;
  given.settings.access.opaque_tunnels = conf::Access::OpaqueTunnels::http;
  expect_cut();
}

}  // namespace
}  // namespace bloomwall::test
