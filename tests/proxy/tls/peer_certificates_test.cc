// How many certificates a peer may send, origin or client: measured before any is parsed, with TLS 1.2 and 1.3.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/peer_certificates.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
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

// Certificates that were parsed, or made, in this process so far: OpenSSL says so to who has data of their own there.
std::size_t certificates_parsed() {
  static std::size_t calls = 0;  // two for each: where it is made, and where it is read
  static const int index = CRYPTO_get_ex_new_index(
      CRYPTO_EX_INDEX_X509, 0, nullptr, [](void*, void*, CRYPTO_EX_DATA*, int, long, void*) { ++calls; }, nullptr,
      nullptr);
  EXPECT_GE(index, 0);
  return calls / 2;
}

// What goes back to the allocator when a session ends: what it held. 0 where a sanitizer has the memory.
std::size_t octets_held_by(std::unique_ptr<TlsSession>& session) {
#ifdef BLOOMWALL_SANITIZED
  session.reset();
  return 0;
#else
  const std::size_t before = mallinfo2().uordblks;
  session.reset();
  return before - mallinfo2().uordblks;
#endif
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

TEST(PeerCertificates, AreCountedByTheirParts) {
  const auto parts_of = [](const std::string& certificate) {
    const std::string message = message_of({certificate}, true);
    const auto* const octets = reinterpret_cast<const unsigned char*>(message.data());
    const auto found = proxy::measure_certificates({octets, message.size()}, true);
    return found ? std::to_string(found->parts) + " " + std::to_string(found->names) : "none";
  };
  const struct {
    std::string what, octets, expected;
  } rows[] = {
      {"nothing", "", "0 0"},
      {"a number", std::string("\x02\x01\x05", 3), "1 0"},
      {"two in a sequence", std::string("\x30\x06\x02\x01\x05\x02\x01\x05", 8), "3 0"},
      {"names",
       std::string("\x30\x06\x82\x01"
                   "a"
                   "\x82\x01"
                   "b",
                   8),
       "3 2"},
      {"names in octets",
       std::string("\x04\x05\x30\x03\x82\x01"
                   "a",
                   7),
       "3 1"},
      {"names in octets with more behind",
       std::string("\x04\x06\x30\x03\x82\x01"
                   "a\xff",
                   8),
       "3 1"},
      {"octets that hold none", std::string("\x04\x02\x30\x09", 4), "1 0"},
      {"a long length",
       std::string("\x30\x81\x03\x82\x01"
                   "a",
                   6),
       "2 1"},
      {"a long tag",
       std::string("\xbf\x81\x01\x03\x82\x01"
                   "a",
                   7),
       "2 2"},
      {"without a length",
       std::string("\x30\x80\x82\x01"
                   "a"
                   "\x00\x00",
                   7),
       "3 1"},
      {"more than there is",
       std::string("\x30\x09\x82\x01"
                   "a",
                   5),
       "0 0"},
      {"behind what has no form", std::string("\x30\x02\x82\x09\x02\x01\x05", 7), "2 0"},
  };
  for (const auto& row : rows) EXPECT_EQ(parts_of(row.octets), row.expected) << row.what;
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "\x30\x80";
  EXPECT_EQ(parts_of(deep), "41 0") << "no deeper than OpenSSL goes";
}

class CertificatesOfOrigins : public testing::TestWithParam<int> {
 protected:
  CertificatesOfOrigins() {
    scene_.adjust = [](SSL_CTX* server) {
      SSL_CTX_set_min_proto_version(server, GetParam());
      SSL_CTX_set_max_proto_version(server, GetParam());
      std::array<unsigned char, 80> ticket_keys{};  // for the next server to know what this one has given out
      SSL_CTX_set_tlsext_ticket_keys(server, ticket_keys.data(), ticket_keys.size());
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
  EXPECT_GE(scene_.client->memory(), of_two + std::size_t{14} * 1024) << "what they take is counted";
  EXPECT_EQ(with(kMostCertificates + 1), "certificate too_large");
  EXPECT_EQ(scene_.client->peer_certificate(), nullptr);
  EXPECT_EQ(last_alert, SSL_AD_DECODE_ERROR) << "before any of it was parsed";
  EXPECT_NE(scene_.client->why().find("16"), std::string::npos) << scene_.client->why();
  EXPECT_EQ(with(200), "certificate too_large");
}

// The work of one step of the loop, and what a connection holds while it lives, stay within what is said of them, for
// the worst lists that are taken.
TEST_P(CertificatesOfOrigins, CostNoMoreThanTheirLimitAllows) {
  EXPECT_EQ(with(kMostCertificates + 1), "certificate too_large");  // makes all of them
  for (const std::size_t count : {std::size_t{2}, kMostCertificates}) {
    SCOPED_TRACE(count);
    scene_.target.at = "full";
    EXPECT_EQ(with(count), "ok");
    scene_.target.at = std::to_string(count);
    std::size_t before = certificates_parsed();
    EXPECT_EQ(with(count), "ok");
    EXPECT_FALSE(scene_.client->resumed());
    EXPECT_EQ(certificates_parsed() - before, count);
    std::size_t counted = scene_.client->memory();
    std::size_t held = octets_held_by(scene_.client);
    EXPECT_LE(held, counted) << "more than limits.buffer_memory knows of";

    before = certificates_parsed();
    EXPECT_EQ(with(count), "ok");
    EXPECT_TRUE(scene_.client->resumed());
    EXPECT_EQ(certificates_parsed(), before) << "a session that is kept has none";
    counted = scene_.client->memory();
    held = octets_held_by(scene_.client);
    EXPECT_LE(held, counted);
  }
  scene_.target.at = "large";
  const std::size_t before = certificates_parsed();
  EXPECT_EQ(with(kMostCertificates + 1), "certificate too_large");
  EXPECT_EQ(certificates_parsed(), before);
}

#ifndef BLOOMWALL_SANITIZED
using proxy::EvpKeyPtr;

// As long as it is used: parsed, checked, and its signature tried, which is when OpenSSL fills what it keeps.
proxy::X509Ptr used(const std::string& der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  proxy::X509Ptr out(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  if (out == nullptr) throw std::runtime_error("no certificate");
  X509_check_purpose(out.get(), -1, 0);
  X509_verify(out.get(), X509_get0_pubkey(out.get()));
  ERR_clear_error();
  return out;
}

// With so many names of one letter.
std::string certificate_with_key(EVP_PKEY* key, EVP_PKEY* signer, int names) {
  const proxy::X509Ptr made(X509_new());
  X509_set_version(made.get(), 2);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
  X509_set_pubkey(made.get(), key);
  std::string text = "DNS:a";
  for (int i = 1; i < names; ++i) text += ",DNS:a";
  const proxy::X509ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, text.c_str()));
  X509_add_ext(made.get(), extension.get(), -1);
  if (X509_sign(made.get(), signer, EVP_sha256()) == 0) throw std::runtime_error("not signed");
  unsigned char* octets = nullptr;
  const int size = i2d_X509(made.get(), &octets);
  const proxy::OctetsPtr owned(octets);
  return {reinterpret_cast<char*>(octets), static_cast<std::size_t>(size)};
}

// The signature is short, so that the key alone takes much. Keys that this OpenSSL does not know are left out.
TEST(PeerCertificates, AreHeldInNoMoreThanIsCounted) {
  const EvpKeyPtr signer(EVP_EC_gen("P-256"));
  const auto check = [&](const std::string& what, const EvpKeyPtr& key) {
    if (key == nullptr) return ERR_clear_error();
    for (const int names : {1, 10, 400}) {
      SCOPED_TRACE(what + " with names: " + std::to_string(names));
      const std::string der = certificate_with_key(key.get(), signer.get(), names);
      const std::string message = message_of({der}, false);
      const auto found =
          proxy::measure_certificates({reinterpret_cast<const unsigned char*>(message.data()), message.size()}, false);
      ASSERT_TRUE(found);
      constexpr std::size_t kTimes = 16;
      std::vector<proxy::X509Ptr> held(kTimes + 1);
      held.back() = used(der);  // first, for what OpenSSL loads once
      const std::size_t before = mallinfo2().uordblks;
      for (std::size_t i = 0; i < kTimes; ++i) held[i] = used(der);
      EXPECT_LE((mallinfo2().uordblks - before) / kTimes, found->memory());
    }
  };
  for (const unsigned bits : {1024U, 2048U}) check("RSA " + std::to_string(bits), EvpKeyPtr(EVP_RSA_gen(bits)));
  for (const char* curve : {"P-256", "P-384", "P-521", "brainpoolP512r1", "sect571r1"}) {
    check(curve, EvpKeyPtr(EVP_EC_gen(curve)));
  }
  for (const char* kind : {"ED25519", "ED448", "X25519", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87", "ML-KEM-512",
                           "ML-KEM-768", "ML-KEM-1024", "SLH-DSA-SHA2-128f"}) {
    check(kind, EvpKeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, kind)));
  }
}
#endif

// What a name takes has nothing to do with its octets.
TEST_P(CertificatesOfOrigins, AreTakenUpToTheirParts) {
  const auto named = [this](std::size_t names, const std::string& name) {
    scene_.leaf_spec.dns = {"good.example.test"};
    scene_.leaf_spec.dns.insert(scene_.leaf_spec.dns.end(), names, name);
    scene_.make_leaf();
    scene_.target.at = std::to_string(names) + name;
    return with(2);
  };
  for (const auto& [names, name] : {std::pair<std::size_t, std::string>{1500, "some.name.example.test"}, {3800, "a"}}) {
    SCOPED_TRACE(names);
    EXPECT_EQ(named(names, name), "ok");
    const std::size_t counted = scene_.client->memory();
    EXPECT_LE(octets_held_by(scene_.client), counted) << "more than limits.buffer_memory knows of";
  }
  EXPECT_EQ(named(4200, "a"), "certificate too_large") << "in 13 KB";
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
    auto session = TlsSession::accept(*listener_);
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
    const std::string outcome = session->is_established() ? "ok" : session->why();
    counted_ = session->memory();
    held_ = octets_held_by(session);
    return outcome;
  }
  std::size_t counted_ = 0, held_ = 0;  // octets of the listener's end
  TempDir dir_;
  Issued authority_, client_;
  proxy::TlsContextPtr listener_;
};

TEST_F(CertificatesOfClients, AreTakenUpToTheSameNumber) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const std::size_t parsed = certificates_parsed();
    EXPECT_EQ(with(kMostCertificates, version), "ok");
    // And the listener's own, by the client; and what verification makes to look for.
    EXPECT_LE(certificates_parsed() - parsed, kMostCertificates + 4);
    EXPECT_LE(held_, counted_) << "more than limits.buffer_memory knows of";
    EXPECT_NE(with(kMostCertificates + 1, version).find("more certificates than 16"), std::string::npos);
  }
}

}  // namespace
}  // namespace bloomwall::test
