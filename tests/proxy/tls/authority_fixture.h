// CAs for tests: good ones as `bloomwall ca init` makes them, and ones with a fault of every kind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "proxy/tls/authority_maker.h"
#include "proxy/tls/certificate_authority.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::test {

inline constexpr std::int64_t kTestDay = 86'400;

struct OddAuthority {
  std::string key = "P-256";                               // a curve, "RSA 1024", "ED25519"
  const char* constraints = "critical,CA:TRUE,pathlen:0";  // null: none
  const char* usage = "critical,keyCertSign,cRLSign";
  const char* purposes = nullptr;
  const EVP_MD* digest = EVP_sha256();
  std::int64_t begin = -7 * kTestDay, end = 3650 * kTestDay;  // from now
  long version = X509_VERSION_3;
  bool has_key_identifier = true;
  std::string name = "odd CA";
};

struct OddPair {
  proxy::X509Ptr certificate;
  proxy::EvpKeyPtr key;
};

inline proxy::EvpKeyPtr make_test_key(const std::string& kind) {
  if (kind.starts_with("RSA ")) return proxy::EvpKeyPtr(EVP_RSA_gen(std::stoul(kind.substr(4))));
  if (kind == "ED25519") return proxy::EvpKeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  return proxy::EvpKeyPtr(EVP_EC_gen(kind.c_str()));
}

inline void add_conf_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  if (value == nullptr) return;
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const proxy::X509ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  ASSERT_NE(extension, nullptr) << value;
  ASSERT_EQ(X509_add_ext(certificate, extension.get(), -1), 1);
}

// Signed by `issuer`, or by itself.
inline OddPair make_odd(const OddAuthority& odd, const OddPair* issuer = nullptr) {
  OddPair made{proxy::X509Ptr(X509_new()), make_test_key(odd.key)};
  X509* const certificate = made.certificate.get();
  X509_set_version(certificate, odd.version);
  proxy::set_random_serial(certificate);
  proxy::set_validity(certificate, std::time(nullptr) + odd.begin, std::time(nullptr) + odd.end);
  proxy::add_name_part(X509_get_subject_name(certificate), NID_commonName, odd.name);
  X509_set_pubkey(certificate, made.key.get());
  const OddPair& above = issuer != nullptr ? *issuer : made;
  X509_set_issuer_name(certificate, X509_get_subject_name(above.certificate.get()));
  if (odd.version == X509_VERSION_3) {
    add_conf_extension(certificate, certificate, NID_basic_constraints, odd.constraints);
    add_conf_extension(certificate, certificate, NID_key_usage, odd.usage);
    add_conf_extension(certificate, certificate, NID_ext_key_usage, odd.purposes);
    if (odd.has_key_identifier) add_conf_extension(certificate, certificate, NID_subject_key_identifier, "hash");
    if (issuer != nullptr) {
      add_conf_extension(certificate, above.certificate.get(), NID_authority_key_identifier, "keyid");
    }
  }
  const EVP_MD* const digest = EVP_PKEY_is_a(above.key.get(), "ED25519") == 1 ? nullptr : odd.digest;
  EXPECT_GT(X509_sign(certificate, above.key.get(), digest), 0);
  return made;
}

inline std::string pem_of_test_key(const EVP_PKEY* key, const char* passphrase = nullptr) {
  const proxy::BioPtr memory(BIO_new(BIO_s_mem()));
  EXPECT_EQ(
      PEM_write_bio_PKCS8PrivateKey(memory.get(), key, passphrase != nullptr ? EVP_aes_256_cbc() : nullptr, passphrase,
                                    passphrase != nullptr ? static_cast<int>(strlen(passphrase)) : 0, nullptr, nullptr),
      1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

// A folder with the files of a CA, private where they must be.
class AuthorityFolder {
 public:
  proxy::AuthorityFiles write(const std::string& certificate, const std::string& key) const {
    proxy::AuthorityFiles files{dir.write("ca.crt", certificate), dir.write("ca.key", key)};
    ::chmod(files.key.c_str(), 0600);
    return files;
  }
  proxy::AuthorityFiles write(const OddPair& pair) const {
    return write(proxy::pem_of(pair.certificate.get()), pem_of_test_key(pair.key.get()));
  }
  // As `bloomwall ca init` makes one.
  proxy::AuthorityFiles make(const proxy::AuthorityRequest& request) const {
    const auto made = proxy::make_authority(request);
    EXPECT_TRUE(made) << made.error();
    return write(made->certificate, std::string(made->key.text()));
  }
  const TempDir dir;
};

inline proxy::AuthorityRequest good_request(std::int64_t now = std::time(nullptr)) {
  return {.organisation = "Example", .host = "gateway", .now = now};
}
// The system's roots are left alone: an empty bundle that is none.
inline proxy::AuthorityTerms test_terms(std::int64_t now = std::time(nullptr)) {
  return {.now = now, .roots = {.bundle = "/nonexistent", .added = {}}};
}

inline proxy::AuthorityPtr load_authority(const proxy::AuthorityFiles& files,
                                          const proxy::AuthorityTerms& terms = test_terms()) {
  auto loaded = proxy::CertificateAuthority::load(files, terms);
  EXPECT_TRUE(loaded) << loaded.error();
  return loaded ? *loaded : nullptr;
}
inline proxy::AuthorityPtr good_authority(const AuthorityFolder& folder) {
  return load_authority(folder.make(good_request()));
}

}  // namespace bloomwall::test
