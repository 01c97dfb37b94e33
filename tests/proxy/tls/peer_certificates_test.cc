// How many certificates a peer may send, origin or client: measured before any is parsed, with TLS 1.2 and 1.3.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/peer_certificates.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/proxy/tls/test_origin.h"

namespace bloomwall::test {
namespace {

using proxy::kMostCertificateOctets;
using proxy::kMostCertificates;
using proxy::TlsSession;

std::string octets_of_length(std::size_t value, int octets) {
  std::string out;
  for (int i = octets - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8U * static_cast<unsigned>(i))));
  return out;
}

// A Certificate message with these certificates.
std::string message_of(const std::vector<std::string>& certificates, bool is_tls13) {
  std::string list;
  for (const std::string& one : certificates) {
    list.append(octets_of_length(one.size(), 3)).append(one);
    if (is_tls13) list.append(2, '\0');  // no extensions
  }
  const std::string body = (is_tls13 ? std::string(1, '\0') : std::string()) + octets_of_length(list.size(), 3) + list;
  return "\x0b" + octets_of_length(body.size(), 3) + body;
}

std::string measured(const std::string& message, bool is_tls13) {
  const auto* const octets = reinterpret_cast<const unsigned char*>(message.data());
  const auto found = proxy::measure_certificates({octets, message.size()}, is_tls13);
  if (!found) return "none";
  return std::to_string(found->count) + (found->is_too_large() ? " too large" : " ok");
}

TEST(PeerCertificates, AreCounted) {
  for (const bool is_tls13 : {false, true}) {
    SCOPED_TRACE(is_tls13);
    EXPECT_EQ(measured(message_of({}, is_tls13), is_tls13), "0 ok");
    EXPECT_EQ(measured(message_of({"a", "", "ccc"}, is_tls13), is_tls13), "3 ok");
    const std::vector<std::string> most(kMostCertificates, "x"), more(kMostCertificates + 1, "");
    EXPECT_EQ(measured(message_of(most, is_tls13), is_tls13), "16 ok");
    EXPECT_EQ(measured(message_of(more, is_tls13), is_tls13), "17 too large");
    EXPECT_EQ(measured(message_of({std::string(kMostCertificateOctets - 100, 'x')}, is_tls13), is_tls13), "1 ok");
    EXPECT_EQ(measured(message_of({std::string(kMostCertificateOctets, 'x')}, is_tls13), is_tls13), "1 too large");
    const std::string whole = message_of({"aaaa", "bb"}, is_tls13);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_NE(measured(whole.substr(0, size), is_tls13), "2 ok") << size;
    }
    EXPECT_EQ(measured("\x02" + whole.substr(1), is_tls13), "none") << "another message";
  }
}

class CertificatesOfOrigins : public testing::TestWithParam<int> {
 protected:
  CertificatesOfOrigins() {
    scene_.adjust = [](SSL_CTX* server) {
      SSL_CTX_set_min_proto_version(server, GetParam());
      SSL_CTX_set_max_proto_version(server, GetParam());
      SSL_CTX_set_info_callback(server, [](const SSL*, int where, int code) {
        if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT) last_alert = code & 0xff;
      });
    };
    last_alert = 0;
  }
  // The good chain, and others behind it that have nothing to do with it.
  std::string with(std::size_t count) {
    scene_.sent = {scene_.leaf.get(), scene_.intermediate.get()};
    while (others_.size() + 2 < count) {
      CertificateSpec spec;
      spec.common_name = "other " + std::to_string(others_.size());
      spec.key = "Ed25519";
      spec.key_use = "other";
      others_.push_back(issue(spec));
    }
    for (std::size_t i = 0; i + 2 < count; ++i) scene_.sent.push_back(others_.at(i).get());
    return scene_.run();
  }
  static inline int last_alert = 0;  // that the origin got
  Scene scene_;
  std::vector<Issued> others_;
};

TEST_P(CertificatesOfOrigins, AreTakenUpToTheirNumber) {
  EXPECT_EQ(with(2), "ok");
  const std::size_t of_two = scene_.client->memory();
  scene_.target.at = "";  // no session of before
  EXPECT_EQ(with(kMostCertificates), "ok") << "the worst list that is taken";
  EXPECT_GE(scene_.client->memory(), of_two + 14 * 1024) << "what they take is counted";
  EXPECT_EQ(with(kMostCertificates + 1), "certificate too_large");
  EXPECT_EQ(scene_.client->peer_certificate(), nullptr);
  EXPECT_EQ(last_alert, SSL_AD_DECODE_ERROR) << "before any of it was parsed";
  EXPECT_NE(scene_.client->why().find("16"), std::string::npos) << scene_.client->why();
  EXPECT_EQ(with(200), "certificate too_large");
}

TEST_P(CertificatesOfOrigins, AreTakenUpToTheirOctets) {
  for (int i = 0; i < 4000; ++i) scene_.leaf_spec.dns.push_back("n" + std::to_string(i) + ".example.test");
  scene_.make_leaf();
  EXPECT_EQ(with(2), "certificate too_large");
}

// Many tickets, each as large as TLS allows, are no way to fill the memory either.
TEST_P(CertificatesOfOrigins, AreNotInTheSessionsThatAreKept) {
  EXPECT_EQ(with(kMostCertificates), "ok");
  EXPECT_GE(scene_.verifier->sessions().size(), 1U);
  EXPECT_LT(scene_.verifier->sessions().octets(), 2U * 1024);
  EXPECT_EQ(with(kMostCertificates), "ok");
}

INSTANTIATE_TEST_SUITE_P(Versions, CertificatesOfOrigins, testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& row) { return row.param == TLS1_2_VERSION ? "Tls12" : "Tls13"; });

// A listener that asks its clients for certificates; both ends in memory.
class CertificatesOfClients : public testing::Test {
 protected:
  CertificatesOfClients() {
    CertificateSpec root;
    root.common_name = "Clients";
    root.is_ca = true;
    authority_ = issue(root);
    CertificateSpec leaf;
    leaf.common_name = "client";
    leaf.extensions = {{"extendedKeyUsage", "clientAuth"}};
    client_ = issue(leaf, &authority_);
    CertificateSpec server;
    server.common_name = "listener";
    const Issued own = issue(server);
    const proxy::BioPtr key(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(key.get(), own.key, nullptr, nullptr, 0, nullptr, nullptr);
    char* text = nullptr;
    const long size = BIO_get_mem_data(key.get(), &text);
    const auto key_file = dir_.write("listener.key", std::string(text, static_cast<std::size_t>(size)));
    const auto file = dir_.write("listener.crt", pem_of({own.get()}));
    const auto clients = dir_.write("clients.crt", pem_of({authority_.get()}));
    auto made =
        proxy::TlsContext::for_listener(file, key_file, {.authorities = clients, .revoked = {}, .required = true});
    if (!made) throw std::runtime_error(made.error());
    listener_ = *std::move(made);
  }
  // What the listener makes of a client that sends so many certificates.
  std::string with(std::size_t count, int version) {
    const proxy::SslContextPtr context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_max_proto_version(context.get(), version);
    const proxy::X509StackPtr chain(sk_X509_new_null());
    for (std::size_t i = 1; i < count; ++i) sk_X509_push(chain.get(), proxy::share(authority_.get()).release());
    EXPECT_EQ(SSL_CTX_use_cert_and_key(context.get(), client_.get(), client_.key, chain.get(), 1), 1);
    const proxy::SslPtr client(SSL_new(context.get()));
    BIO* const in = BIO_new(BIO_s_mem());
    BIO* const out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in, -1);
    SSL_set_bio(client.get(), in, out);
    SSL_set_connect_state(client.get());
    const auto session = TlsSession::accept(*listener_);
    for (int i = 0; i < 10; ++i) {
      std::array<char, 16'384> room{};
      ERR_clear_error();
      SSL_read(client.get(), room.data(), room.size());
      for (int got = 0; (got = BIO_read(out, room.data(), room.size())) > 0;) {
        session->feed({room.data(), static_cast<std::size_t>(got)});
      }
      session->read(room);
      BIO_write(in, session->pending().data(), static_cast<int>(session->pending().size()));
      session->sent();
    }
    return session->is_established() ? "ok" : session->why();
  }
  TempDir dir_;
  Issued authority_, client_;
  proxy::TlsContextPtr listener_;
};

TEST_F(CertificatesOfClients, AreTakenUpToTheSameNumber) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    EXPECT_EQ(with(kMostCertificates, version), "ok");
    EXPECT_NE(with(kMostCertificates + 1, version).find("more certificates than 16"), std::string::npos);
  }
}

}  // namespace
}  // namespace bloomwall::test
