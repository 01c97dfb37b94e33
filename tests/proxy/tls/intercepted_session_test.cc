// Sessions with clients whose TLS is intercepted: the certificate that a session shows, versions, ALPN, tickets, 0-RTT,
// and what is known of a client that refuses the certificate.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <openssl/err.h>

#include <array>
#include <string>

#include "proxy/tls/tls_session.h"
#include "tests/support/test_authority.h"

namespace bloomwall::test {
namespace {

using proxy::TlsContext;
using proxy::TlsIdentity;
using proxy::TlsSession;

class InterceptedClients : public testing::Test {
 protected:
  InterceptedClients() {
    sk_X509_push(chain_.get(), proxy::share(ca_.get()).release());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(client_context_.get()), root_.get());
    SSL_CTX_set_verify(client_context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_session_cache_mode(client_context_.get(), SSL_SESS_CACHE_CLIENT);
    SSL_CTX_set_security_level(client_context_.get(), 0);
  }
  TlsIdentity identity() const { return {leaf_.get(), leaf_.key, chain_.get(), context_, alpn_}; }

  // One connection; `resume` as in SSL_set_session().
  void connect(SSL_SESSION* resume = nullptr) {
    client_.reset(SSL_new(client_context_.get()));
    BIO* const in = BIO_new(BIO_s_mem());
    BIO* const out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in, -1);
    SSL_set_bio(client_.get(), in, out);
    SSL_set_connect_state(client_.get());
    if (!offered_.empty()) {
      SSL_set_alpn_protos(client_.get(), reinterpret_cast<const unsigned char*>(offered_.data()),
                          static_cast<unsigned int>(offered_.size()));
    }
    if (resume != nullptr) SSL_set_session(client_.get(), resume);
    session_ = TlsSession::accept(*intercepted_, identity());
    run();
  }
  void run() {
    std::array<char, 16'384> room{};
    for (int i = 0; i < 20; ++i) {
      SSL_do_handshake(client_.get());
      SSL_read(client_.get(), room.data(), room.size());
      for (int got = 0; (got = BIO_read(SSL_get_wbio(client_.get()), room.data(), room.size())) > 0;) {
        session_->feed(std::span<const char>(room.data(), static_cast<std::size_t>(got)));
      }
      for (std::size_t got = 0; (got = session_->read(room)) > 0;) read_.append(room.data(), got);
      const auto down = session_->pending();
      if (!down.empty()) BIO_write(SSL_get_rbio(client_.get()), down.data(), static_cast<int>(down.size()));
      session_->sent();
    }
  }
  proxy::SslSessionPtr ticket() const { return proxy::SslSessionPtr(SSL_get1_session(client_.get())); }
  void finish() const { SSL_set_shutdown(client_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); }

  const Issued root_ = issue({.common_name = "root", .is_ca = true});
  const Issued ca_ = issue({.common_name = "interception", .is_ca = true}, &root_);
  Issued leaf_ = issue({.dns = {"a.test"}}, &ca_);
  const proxy::X509StackPtr chain_{sk_X509_new_null()};
  std::string context_ = "1 a.test", alpn_{proxy::kAlpnHttp11}, offered_;
  const proxy::TlsContextPtr intercepted_ = *TlsContext::for_intercepted();
  const proxy::SslContextPtr client_context_{SSL_CTX_new(TLS_client_method())};
  proxy::SslPtr client_;
  std::unique_ptr<TlsSession> session_;
  std::string read_;
};

TEST_F(InterceptedClients, SeeTheCertificateOfTheirSession) {
  connect();
  ASSERT_TRUE(session_->is_established()) << session_->why();
  EXPECT_EQ(X509_cmp(SSL_get0_peer_certificate(client_.get()), leaf_.get()), 0);
  EXPECT_EQ(sk_X509_num(SSL_get_peer_cert_chain(client_.get())), 2) << "the leaf and the intermediate";
  EXPECT_EQ(session_->version(), "1.3");
  EXPECT_FALSE(session_->resumed());
  leaf_ = issue({.dns = {"b.test"}, .key = "RSA-2048"}, &ca_);
  connect();
  ASSERT_TRUE(session_->is_established()) << session_->why();
  EXPECT_EQ(X509_cmp(SSL_get0_peer_certificate(client_.get()), leaf_.get()), 0);
}

TEST_F(InterceptedClients, AKeyThatIsNotTheLeafsFails) {
  leaf_.key = test_key("P-256", "another");
  connect();
  EXPECT_EQ(session_->state(), TlsSession::State::failed);
  EXPECT_NE(session_->why(), "");
}

TEST_F(InterceptedClients, OfOldVersionsGetAlert70) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    SSL_CTX_set_min_proto_version(client_context_.get(), 0);
    SSL_CTX_set_max_proto_version(client_context_.get(), version);
    ERR_clear_error();
    connect();
    EXPECT_EQ(session_->state(), TlsSession::State::failed);
    EXPECT_EQ(ERR_GET_REASON(ERR_peek_error()), SSL_AD_REASON_OFFSET + SSL_AD_PROTOCOL_VERSION);
    EXPECT_EQ(session_->fault(), TlsSession::Fault::protocol);
  }
  SSL_CTX_set_max_proto_version(client_context_.get(), TLS1_2_VERSION);
  connect();
  EXPECT_EQ(session_->version(), "1.2") << session_->why();
}

TEST_F(InterceptedClients, OfHttp2OnlyGetAlert120UnlessItIsSpoken) {
  offered_ = std::string("\x02h2");
  ERR_clear_error();
  connect();
  EXPECT_EQ(session_->state(), TlsSession::State::failed);
  EXPECT_EQ(ERR_GET_REASON(ERR_peek_error()), SSL_AD_REASON_OFFSET + SSL_AD_NO_APPLICATION_PROTOCOL);
  alpn_ = proxy::kAlpnH2Http11;
  connect();
  EXPECT_EQ(session_->alpn(), "h2");
  alpn_ = proxy::kAlpnHttp11;
  offered_ = std::string(proxy::kAlpnH2Http11);
  connect();
  EXPECT_EQ(session_->alpn(), "http/1.1");
  offered_ = "";
  connect();
  EXPECT_TRUE(session_->is_established());
  EXPECT_EQ(session_->alpn(), "");
}

TEST_F(InterceptedClients, AreResumedForTheSameNameAndCaOnly) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SSL_CTX_set_max_proto_version(client_context_.get(), version);
    context_ = "1 a.test";
    connect();
    const auto first = ticket();
    finish();
    connect(first.get());
    EXPECT_TRUE(session_->resumed()) << version;
    const auto second = ticket();
    finish();
    context_ = "1 b.test";
    connect(second.get());
    EXPECT_TRUE(session_->is_established()) << session_->why();
    EXPECT_FALSE(session_->resumed()) << "another name";
    finish();
    context_ = "2 a.test";
    connect(second.get());
    EXPECT_TRUE(session_->is_established());
    EXPECT_FALSE(session_->resumed()) << "another CA";
    finish();
  }
}

TEST_F(InterceptedClients, TicketsOfListenersAreNotTheirs) {
  connect();
  const auto kept = ticket();
  finish();
  const proxy::SslContextPtr listener(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_use_cert_and_key(listener.get(), leaf_.get(), leaf_.key, nullptr, 1);
  EXPECT_EQ(SSL_CTX_get_max_early_data(intercepted_->get()), 0U);
  EXPECT_EQ(SSL_SESSION_get_max_early_data(kept.get()), 0U) << "no ticket invites 0-RTT";
}

TEST_F(InterceptedClients, EarlyDataIsNotAccepted) {
  connect();
  const auto kept = ticket();
  finish();
  SSL_SESSION_set_max_early_data(kept.get(), 1000);  // a client that tries all the same
  client_.reset(SSL_new(client_context_.get()));
  SSL_set_bio(client_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  BIO_set_mem_eof_return(SSL_get_rbio(client_.get()), -1);
  SSL_set_connect_state(client_.get());
  SSL_set_session(client_.get(), kept.get());
  std::size_t written = 0;
  EXPECT_EQ(SSL_write_early_data(client_.get(), "early", 5, &written), 1);
  session_ = TlsSession::accept(*intercepted_, identity());
  run();
  EXPECT_TRUE(session_->is_established()) << session_->why();
  EXPECT_EQ(SSL_get_early_data_status(client_.get()), SSL_EARLY_DATA_REJECTED);
  EXPECT_EQ(read_, "") << "nothing of it is read";
}

TEST_F(InterceptedClients, MayChangeTheirKeysWhileTheySendData) {
  connect();
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(SSL_key_update(client_.get(), SSL_KEY_UPDATE_REQUESTED), 1);  // so two messages, one of them ours
    for (int record = 0; record < 8; ++record) SSL_write(client_.get(), "x", 1);
    run();
  }
  EXPECT_EQ(session_->state(), TlsSession::State::open) << session_->why();
  EXPECT_EQ(read_.size(), 1600U);
}

TEST_F(InterceptedClients, ThatSendNothingButKeyUpdatesAreLetGo) {
  for (const int kind : {SSL_KEY_UPDATE_NOT_REQUESTED, SSL_KEY_UPDATE_REQUESTED}) {
    connect();
    const auto update = [&](int times) {
      for (int i = 0; i < times; ++i) {
        SSL_key_update(client_.get(), kind);
        SSL_do_handshake(client_.get());
      }
      run();
    };
    update(20);
    SSL_write(client_.get(), "x", 1);
    run();
    EXPECT_EQ(session_->state(), TlsSession::State::open) << session_->why();
    update(1000);
    EXPECT_EQ(session_->state(), TlsSession::State::failed);
    EXPECT_EQ(session_->why(), "a flood of messages that bring no data");
    EXPECT_EQ(session_->fault(), TlsSession::Fault::protocol);
  }
}

TEST_F(InterceptedClients, ThatAskForRenegotiationAgainAndAgainAreLetGo) {
  SSL_CTX_set_max_proto_version(client_context_.get(), TLS1_2_VERSION);
  connect();
  ASSERT_TRUE(session_->is_established()) << session_->why();
  for (int i = 0; i < 1000 && session_->state() == TlsSession::State::open; ++i) {
    SSL_renegotiate(client_.get());
    run();
  }
  EXPECT_NE(session_->state(), TlsSession::State::open);
}

TEST_F(InterceptedClients, ThatRefuseTheCertificateSayWhyByAlert) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SSL_CTX_set_max_proto_version(client_context_.get(), version);
    SSL_CTX_set_cert_store(client_context_.get(), X509_STORE_new());
    connect();
    EXPECT_EQ(session_->alert_received(), SSL_AD_UNKNOWN_CA) << version;
    EXPECT_EQ(session_->fault(), TlsSession::Fault::alert);
    EXPECT_FALSE(session_->certificate_refused()) << "that is said of peers' certificates";
  }
}

}  // namespace
}  // namespace bloomwall::test
