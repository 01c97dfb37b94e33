// What an origin does beside its certificate: versions, ciphers, octets that are no TLS, client certificates, ALPN,
// renegotiation, other certificates later, and resumed sessions; rows 23 to 28, 30, 33 and 34 of the table.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>

#include <array>
#include <string>

#include "tests/proxy/tls/test_origin.h"

namespace bloomwall::test {
namespace {

using proxy::TlsSession;

bool is_protocol_error(const std::string& outcome) { return outcome == "protocol" || outcome.starts_with("alert "); }

TEST(OriginProtocols, Row23OldVersionsOnly) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    Scene scene;
    scene.leaf_spec.key = "RSA-2048";
    scene.make_leaf();
    scene.adjust = [version](SSL_CTX* server) { SSL_CTX_set_max_proto_version(server, version); };
    EXPECT_TRUE(is_protocol_error(scene.run())) << scene.client->why();
  }
  // Debian's OpenSSL has no SSLv3: what such a server would send is a record of its version.
  Scene scene;
  scene.load();
  const auto client = TlsSession::connect(*scene.context, scene.target);
  client->feed(std::string("\x16\x03\x00\x00\x2e\x02\x00\x00\x2a\x03\x00", 11) + std::string(32, 'r') +
               std::string("\x00\x00\x35\x00\x00\x00\x00\x00", 8));
  EXPECT_EQ(outcome_of(*client), "protocol") << client->why();
}

// RC4 and 3DES are not built into Debian's OpenSSL (no-weak-ssl-ciphers); no TLS of ours offers them either.
TEST(OriginProtocols, Row24WeakCipherSuitesOfTls12) {
  for (const char* const ciphers :
       {"kRSA+AES", "kRSA+AESGCM", "ECDHE+AES+SHA1", "ECDHE+SHA384:!AESGCM", "NULL-SHA256", "ECDHE-RSA-NULL-SHA",
        "DHE+AESGCM", "ECDHE-RSA-AES128-SHA256", "ECDHE+CAMELLIA", "ECDHE+AESCCM", "ADH", "AECDH"}) {
    for (const char* const key : {"RSA-2048", "P-256"}) {
      Scene scene;
      scene.leaf_spec.key = key;
      scene.make_leaf();
      bool can = true;
      scene.adjust = [&](SSL_CTX* server) {
        SSL_CTX_set_max_proto_version(server, TLS1_2_VERSION);
        can = SSL_CTX_set_cipher_list(server, ciphers) == 1;
        SSL_CTX_set_dh_auto(server, 1);
      };
      const std::string outcome = scene.run();
      EXPECT_TRUE(can) << ciphers;
      EXPECT_TRUE(is_protocol_error(outcome)) << ciphers << ' ' << key << ": " << outcome;
    }
  }
  for (const char* const absent : {"RC4", "3DES", "EXPORT"}) {
    const proxy::SslContextPtr context(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_set_security_level(context.get(), 0);
    EXPECT_EQ(SSL_CTX_set_cipher_list(context.get(), absent), 0) << "this OpenSSL has it: give it a row";
  }
}

TEST(OriginProtocols, Row24WeakGroupsAndSignatures) {
  for (const char* const group : {"P-521", "X448", "ffdhe2048"}) {
    Scene scene;
    scene.adjust = [group](SSL_CTX* server) { SSL_CTX_set1_groups_list(server, group); };
    EXPECT_TRUE(is_protocol_error(scene.run())) << group;
  }
  Scene scene;
  scene.leaf_spec.key = "RSA-2048";
  scene.make_leaf();
  scene.adjust = [](SSL_CTX* server) {
    SSL_CTX_set_max_proto_version(server, TLS1_2_VERSION);
    SSL_CTX_set1_sigalgs_list(server, "RSA+SHA1");
  };
  EXPECT_TRUE(is_protocol_error(scene.run()));
}

TEST(OriginProtocols, Row25NoTlsOnThePort) {
  for (const std::string& octets :
       {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string("SSH-2.0-OpenSSH_9.2\r\n"),
        std::string(5000, '\0'), std::string(5000, '\xff'),
        std::string("\x16\x03\x03\xff\xff") + std::string(70'000, 'x')}) {
    Scene scene;
    scene.load();
    const auto client = TlsSession::connect(*scene.context, scene.target);
    client->feed(octets);
    EXPECT_EQ(outcome_of(*client), "protocol") << client->why();
  }
  Scene silent;
  silent.load();
  const auto client = TlsSession::connect(*silent.context, silent.target);
  EXPECT_EQ(outcome_of(*client), "open") << "the time-out is the caller's";
  EXPECT_EQ(client->certificate_error(), proxy::CertificateError::none);
}

// A key pair of one key's public and another's private half, which OpenSSL takes for the certificate's.
EVP_PKEY* mixed_key(const EVP_PKEY* with_public, const EVP_PKEY* with_private) {
  std::array<unsigned char, 256> point{};
  std::size_t size = 0;
  BIGNUM* secret = nullptr;
  EVP_PKEY_get_octet_string_param(with_public, OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(), &size);
  EVP_PKEY_get_bn_param(with_private, OSSL_PKEY_PARAM_PRIV_KEY, &secret);
  OSSL_PARAM_BLD* const builder = OSSL_PARAM_BLD_new();
  OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
  OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point.data(), size);
  OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, secret);
  OSSL_PARAM* const parameters = OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr);
  EVP_PKEY* key = nullptr;
  EVP_PKEY_fromdata_init(context);
  EVP_PKEY_fromdata(context, &key, EVP_PKEY_KEYPAIR, parameters);
  const std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>> own_context(context);
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(builder);
  BN_clear_free(secret);
  return key;
}

TEST(OriginProtocols, Row26TheKeyIsNotTheCertificates) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Scene scene;
    const proxy::EvpKeyPtr wrong(mixed_key(scene.leaf.key, test_key("P-256", "another")));
    ASSERT_NE(wrong, nullptr);
    scene.key = wrong.get();
    scene.adjust = [version](SSL_CTX* server) { SSL_CTX_set_max_proto_version(server, version); };
    EXPECT_EQ(scene.run(), "protocol") << scene.client->why();
  }
}

TEST(OriginProtocols, Row27AClientCertificateIsWanted) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const int mode : {SSL_VERIFY_PEER, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT}) {
      Scene scene;
      scene.adjust = [&](SSL_CTX* server) {
        SSL_CTX_set_max_proto_version(server, version);
        SSL_CTX_set_verify(server, mode, nullptr);
      };
      const std::string outcome = scene.run();
      EXPECT_TRUE(scene.client->client_certificate_asked());
      EXPECT_EQ(SSL_get0_peer_certificate(scene.origin->ssl()), nullptr);
      const bool is_required = mode != SSL_VERIFY_PEER;
      EXPECT_EQ(outcome, !is_required ? "ok" : version == TLS1_3_VERSION ? "alert 116" : "alert 40");
    }
  }
  Scene scene;
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_FALSE(scene.client->client_certificate_asked());
}

int choose(SSL*, const unsigned char** out, unsigned char* size, const unsigned char*, unsigned int, void* wanted) {
  const auto& text = *static_cast<const std::string*>(wanted);
  if (text.empty()) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = reinterpret_cast<const unsigned char*>(text.data());
  *size = static_cast<unsigned char>(text.size());
  return SSL_TLSEXT_ERR_OK;
}

TEST(OriginProtocols, Row28Alpn) {
  const auto with = [](Scene& scene, std::string& chosen) {
    scene.adjust = [&chosen](SSL_CTX* server) { SSL_CTX_set_alpn_select_cb(server, choose, &chosen); };
    return scene.run();
  };
  std::string none, h2 = "h2", http11 = "http/1.1";
  Scene refuses, lies, agrees, ignores, two;
  EXPECT_EQ(with(refuses, none), "alert 120");
  EXPECT_EQ(with(lies, h2), "protocol") << "h2 was not offered";
  EXPECT_EQ(with(agrees, http11), "ok");
  EXPECT_EQ(agrees.client->alpn(), "http/1.1");
  EXPECT_EQ(ignores.run(), "ok");
  EXPECT_EQ(ignores.client->alpn(), "");
  two.target.alpn = proxy::kAlpnH2Http11;
  EXPECT_EQ(with(two, h2), "ok");
  EXPECT_EQ(two.client->alpn(), "h2");
}

TEST(OriginProtocols, Row30RenegotiationEndsTheConnection) {
  Scene scene;
  scene.adjust = [](SSL_CTX* server) { SSL_CTX_set_max_proto_version(server, TLS1_2_VERSION); };
  ASSERT_EQ(scene.run(), "ok");
  EXPECT_EQ(SSL_renegotiate(scene.origin->ssl()), 1);
  SSL_do_handshake(scene.origin->ssl());
  scene.origin->run(*scene.client);
  EXPECT_EQ(outcome_of(*scene.client), "protocol");
  EXPECT_NE(scene.client->why().find("renegotiation"), std::string::npos) << scene.client->why();
}

// A server may ask for a certificate later only if the client's hello allows it (RFC 8446 4.2.6), and ours does not.
TEST(OriginProtocols, Row30PostHandshakeRequestsAreNotAllowed) {
  Scene scene;
  ASSERT_EQ(scene.run(), "ok");
  SSL_set_verify(scene.origin->ssl(), SSL_VERIFY_PEER, nullptr);
  ERR_clear_error();
  EXPECT_EQ(SSL_verify_client_post_handshake(scene.origin->ssl()), 0);
  EXPECT_EQ(ERR_GET_REASON(ERR_peek_last_error()), SSL_R_EXTENSION_NOT_RECEIVED);
}

TEST(OriginProtocols, AFloodOfMessagesWithoutDataEndsTheConnection) {
  int (*const floods[])(SSL*) = {
      [](SSL* ssl) { return SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED); },
      [](SSL* ssl) { return SSL_new_session_ticket(ssl); },
  };
  for (const auto flood : floods) {
    Scene scene;
    ASSERT_EQ(scene.run(), "ok");
    const auto say = [&](int times) {
      for (int i = 0; i < times; ++i) {
        EXPECT_EQ(flood(scene.origin->ssl()), 1);
        SSL_do_handshake(scene.origin->ssl());
      }
      scene.origin->write("x");
      scene.origin->run(*scene.client);
    };
    say(10);
    EXPECT_EQ(outcome_of(*scene.client), "ok");
    EXPECT_EQ(scene.origin->read_by_client, "x");
    say(1000);
    EXPECT_EQ(outcome_of(*scene.client), "protocol");
    EXPECT_EQ(scene.client->why(), "a flood of messages that bring no data");
    EXPECT_EQ(scene.origin->read_by_client, "x");
  }
}

TEST(OriginProtocols, Row33AnotherCertificateTheNextTime) {
  Scene scene;
  scene.target.at = "";
  EXPECT_EQ(scene.run(), "ok");
  const Issued first = copy_of(scene.leaf);
  scene.leaf_spec.key_use = "second";
  scene.make_leaf();
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_FALSE(scene.client->resumed());
  EXPECT_FALSE(scene.client->chain_remembered());
  EXPECT_EQ(X509_cmp(scene.client->peer_certificate(), scene.leaf.get()), 0);
  EXPECT_NE(X509_cmp(scene.client->peer_certificate(), first.get()), 0);
}

// A server whose ticket keys live on over connections.
class ResumedOrigins : public testing::TestWithParam<int> {
 protected:
  ResumedOrigins() {
    scene_.leaf_spec.to = 7200;
    scene_.make_leaf();
    scene_.adjust = [](SSL_CTX* server) { SSL_CTX_set_max_proto_version(server, GetParam()); };
    scene_.load();
    server_ = scene_.server();
  }
  std::string connect() {
    origin_ = std::make_unique<TestOrigin>(server_.get());
    client_ = TlsSession::connect(*scene_.context, scene_.target);
    origin_->run(*client_);
    client_->write(std::string_view("request"));
    origin_->run(*client_);
    const std::string outcome = outcome_of(*client_);
    return outcome == "ok" && client_->resumed() ? "resumed" : outcome;
  }
  Scene scene_;
  proxy::SslContextPtr server_;
  std::unique_ptr<TestOrigin> origin_;
  std::unique_ptr<TlsSession> client_;
};

TEST_P(ResumedOrigins, AreResumedForTheSameTarget) {
  EXPECT_EQ(connect(), "ok");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(connect(), "resumed") << i;
  EXPECT_EQ(origin_->sent_by_client, "request");
  EXPECT_LE(scene_.verifier->sessions().size(), proxy::OriginSessions::kPerOrigin);
  scene_.target.at = "192.0.2.1:443";
  EXPECT_EQ(connect(), "ok") << "dialled elsewhere";
  scene_.target = {"other.example.test", "good.example.test:443"};
  EXPECT_EQ(connect(), "certificate wrong_name");
  scene_.target = {"good.example.test", ""};
  EXPECT_EQ(connect(), "ok") << "no sessions wanted";
}

// A resumed session would not ask for it, and only the client itself has one.
TEST_P(ResumedOrigins, ThatWantAClientCertificateAreNot) {
  SSL_CTX_set_verify(server_.get(), SSL_VERIFY_PEER, nullptr);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(connect(), "ok");
    EXPECT_TRUE(client_->client_certificate_asked()) << i;
  }
  EXPECT_EQ(scene_.verifier->sessions().size(), 0U);
}

TEST_P(ResumedOrigins, OfOtherSettingsAreNot) {
  EXPECT_EQ(connect(), "ok");
  scene_.load();
  EXPECT_EQ(connect(), "ok");
  EXPECT_EQ(connect(), "resumed");
}

TEST_P(ResumedOrigins, Row34NotAfterTheCertificatesEnd) {
  EXPECT_EQ(connect(), "ok");
  scene_.clock += 3600;
  EXPECT_EQ(connect(), "resumed");
  scene_.clock += 3601;
  EXPECT_EQ(connect(), "certificate expired");
}

TEST_P(ResumedOrigins, EndAfterADayHoweverOftenTheyWereResumed) {
  scene_.leaf_spec.to = std::int64_t{30} * 24 * 3600;
  scene_.make_leaf();
  server_ = scene_.server();
  EXPECT_EQ(connect(), "ok");
  for (int i = 0; i < 23; ++i) {
    scene_.clock += 3600;
    EXPECT_EQ(connect(), "resumed") << i;
  }
  scene_.clock += 3600;
  EXPECT_EQ(connect(), "ok") << "verified again";
}

TEST_P(ResumedOrigins, AFailureIsNeverRememberedAsPermission) {
  scene_.target = {"other.example.test", "good.example.test:443"};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(connect(), "certificate wrong_name");
  EXPECT_EQ(scene_.verifier->sessions().size(), 0U);
  EXPECT_EQ(scene_.verifier->remembered(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Versions, ResumedOrigins, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& row) { return row.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

TEST(OriginChains, AreRememberedForAnHourAndTheName) {
  Scene scene;
  scene.target.at = "";
  scene.leaf_spec.dns.emplace_back("second.example.test");
  scene.make_leaf();
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_FALSE(scene.client->chain_remembered());
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_TRUE(scene.client->chain_remembered());
  scene.target.name = "second.example.test";
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_FALSE(scene.client->chain_remembered()) << "another name";
  scene.target.name = "third.example.test";
  EXPECT_EQ(scene.run(), "certificate wrong_name");
  scene.target.name = "good.example.test";
  scene.clock += 3599;
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_TRUE(scene.client->chain_remembered());
  scene.clock += 1;
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_FALSE(scene.client->chain_remembered());
}

TEST(OriginChains, AreForgottenWithTheEndOfACertificate) {
  Scene scene;
  scene.target.at = "";
  scene.leaf_spec.to = 600;
  scene.make_leaf();
  EXPECT_EQ(scene.run(), "ok");
  scene.clock += 601;
  EXPECT_EQ(scene.run(), "certificate expired");
}

TEST(OriginChains, ThatAreRememberedAreStillRevoked) {
  Scene scene;
  scene.target.at = "";
  EXPECT_EQ(scene.run(), "ok");
  scene.staple = ocsp_answer(scene.leaf.get(), scene.intermediate, {.revoked = true});
  EXPECT_EQ(scene.run(), "certificate revoked");
}

TEST(OriginChains, ThatAreRememberedMustStillStaple) {
  Scene scene;
  scene.target.at = "";
  scene.leaf_spec.extensions.emplace_back("tlsfeature", "status_request");
  scene.make_leaf();
  scene.staple = ocsp_answer(scene.leaf.get(), scene.intermediate, {});
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_EQ(scene.run(), "ok");
  EXPECT_TRUE(scene.client->chain_remembered());
  scene.staple = "";
  EXPECT_EQ(scene.run(), "certificate no_staple");
}

}  // namespace
}  // namespace bloomwall::test
