// Keys of session tickets, and what they are for.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/tls_context.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "proxy/tls/tls_session.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificate.h"

namespace bloomwall::proxy {
namespace {

TEST(TicketKeys, LastADayAndAreKnownForAnother) {
  const auto begin = TicketKeys::Clock::now();
  TicketKeys keys(begin);
  const auto first = keys.at(begin);
  EXPECT_EQ(keys.at(begin + TicketKeys::kLifetime / 2), first);
  const auto second = keys.at(begin + TicketKeys::kLifetime);
  EXPECT_NE(second->current.name, first->current.name);
  EXPECT_NE(second->current.cipher, first->current.cipher);
  EXPECT_EQ(second->before.name, first->current.name);
  const auto third = keys.at(begin + 2 * TicketKeys::kLifetime);
  EXPECT_NE(third->before.name, first->current.name) << "gone for good";
}

TEST(TicketKeys, OfInterceptedClientsLastAnHour) {
  const auto begin = TicketKeys::Clock::now();
  TicketKeys keys(begin, TicketKeys::kInterceptedLifetime);
  const auto first = keys.at(begin + std::chrono::minutes(59));
  EXPECT_EQ(keys.at(begin), first);
  const auto second = keys.at(begin + std::chrono::hours(1));
  EXPECT_NE(second->current.name, first->current.name);
  EXPECT_EQ(second->before.name, first->current.name);
}

class Handshakes : public testing::Test {
 protected:
  SslPtr shake(SSL_CTX* listener, SSL_CTX* peers, SSL_SESSION* session = nullptr) {
    SslPtr server(SSL_new(listener)), client(SSL_new(peers));
    BIO* one = nullptr;
    BIO* other = nullptr;
    EXPECT_EQ(BIO_new_bio_pair(&one, 0, &other, 0), 1);
    SSL_set_bio(server.get(), one, one);
    SSL_set_bio(client.get(), other, other);
    SSL_set_accept_state(server.get());
    SSL_set_connect_state(client.get());
    if (session != nullptr) SSL_set_session(client.get(), session);
    for (int i = 0; i < 10; ++i) {
      SSL_do_handshake(client.get());
      SSL_do_handshake(server.get());
    }
    std::array<char, 16> room{};
    SSL_read(client.get(), room.data(), room.size());  // tickets of TLS 1.3 come behind the handshake
    server_ = std::move(server);
    return client;
  }
  TlsContextPtr listener() const { return *TlsContext::for_listener(files_.certificate, files_.key); }
  TlsContextPtr peers() const { return *TlsContext::for_peers(files_.certificate); }

  const test::TempDir dir_;
  const test::TestCertificate files_ = test::make_certificate(dir_.path(), "a", "proxy.test");
  SslPtr server_;
};

// A reload makes another context of the same files.
TEST_F(Handshakes, AreSparedAfterAReload) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const auto old = listener(), next = listener(), client = peers();
    SSL_CTX_set_max_proto_version(client->get(), version);
    const SslPtr first = shake(old->get(), client->get());
    EXPECT_EQ(SSL_session_reused(first.get()), 0);
    SSL_SESSION* const session = SSL_get1_session(first.get());
    const SslPtr second = shake(next->get(), client->get(), session);
    EXPECT_EQ(SSL_session_reused(second.get()), 1) << version;
    SSL_SESSION_free(session);
  }
}

TEST_F(Handshakes, TakeForwardSecrecyAndAuthenticatedEncryptionAlone) {
  struct Row {
    const char* cipher;
    bool taken;
  };
  for (const Row& row :
       {Row{"AES128-SHA", false}, Row{"AES256-GCM-SHA384", false}, Row{"ECDHE-RSA-AES128-SHA", false},
        Row{"ECDHE-ECDSA-AES128-SHA", false}, Row{"ECDHE+AESGCM", true}, Row{"ECDHE+CHACHA20", true}}) {
    const auto one = listener(), client = peers();
    SSL_CTX_set_max_proto_version(client->get(), TLS1_2_VERSION);
    ASSERT_EQ(SSL_CTX_set_cipher_list(client->get(), row.cipher), 1) << row.cipher;
    EXPECT_EQ(SSL_is_init_finished(shake(one->get(), client->get()).get()) == 1, row.taken) << row.cipher;
  }
}

TEST_F(Handshakes, TheCertificatesDatesAreKnown) {
  const auto validity = listener()->validity();
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  EXPECT_LE(validity.not_before, now);
  EXPECT_GT(validity.not_after, now);
}

}  // namespace
}  // namespace bloomwall::proxy
