// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

namespace bloomwall::test {
namespace {

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* p) const noexcept {
    Free(p);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<&EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeWith<&X509_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeWith<&X509_EXTENSION_free>>;
using FilePtr = std::unique_ptr<std::FILE, FreeWith<&std::fclose>>;

void require(bool ok) {
  if (!ok) throw std::runtime_error("no certificate for the test");
}

void add_names(X509* certificate, const std::string& name) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const std::string value = "DNS:" + name + ",IP:127.0.0.1";
  const ExtensionPtr names(X509V3_EXT_conf_nid(nullptr, &context, NID_subject_alt_name, value.c_str()));
  require(names != nullptr && X509_add_ext(certificate, names.get(), -1) == 1);
}

}  // namespace

TestCertificate make_certificate(const std::filesystem::path& folder, const std::string& stem, const std::string& name,
                                 std::chrono::seconds valid_for) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const CertificatePtr made(X509_new());
  require(key != nullptr && made != nullptr);
  std::uint32_t serial = 0;
  require(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), static_cast<long>(serial));
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), static_cast<long>(valid_for.count()));
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(made.get(), subject);
  add_names(made.get(), name);
  require(X509_sign(made.get(), key.get(), EVP_sha256()) != 0);
  const TestCertificate files{folder / (stem + ".crt"), folder / (stem + ".key")};
  const FilePtr certificate_file(std::fopen(files.certificate.c_str(), "w"));
  const FilePtr key_file(std::fopen(files.key.c_str(), "w"));
  require(certificate_file != nullptr && key_file != nullptr);
  require(PEM_write_X509(certificate_file.get(), made.get()) == 1);
  require(PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return files;
}

}  // namespace bloomwall::test
