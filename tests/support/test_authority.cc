// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_authority.h"

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <memory>
#include <stdexcept>

#include "base/encoding.h"

namespace bloomwall::test {
namespace {

using ExtensionOwner = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;
using NamesOwner = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;
using TimeOwner = std::unique_ptr<ASN1_TIME, FreeWith<ASN1_TIME_free>>;
using BasicOwner = std::unique_ptr<OCSP_BASICRESP, FreeWith<OCSP_BASICRESP_free>>;
using ResponseOwner = std::unique_ptr<OCSP_RESPONSE, FreeWith<OCSP_RESPONSE_free>>;
using CertificateIdOwner = std::unique_ptr<OCSP_CERTID, FreeWith<OCSP_CERTID_free>>;

void must(bool ok, const char* what) {
  if (ok) return;
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  throw std::runtime_error(std::string("test authority: ") + what + ": " + (reason != nullptr ? reason : "?"));
}

proxy::EvpKeyPtr make_key(const std::string& kind) {
  if (kind.starts_with("RSA-") || kind.starts_with("DSA-")) {
    const std::string file = BLOOMWALL_SOURCE_DIR "/tests/data/tls/" + kind + ".key";
    const proxy::BioPtr in(BIO_new_file(file.c_str(), "r"));
    must(in != nullptr, file.c_str());
    return proxy::EvpKeyPtr(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  }
  if (kind == "Ed25519") return proxy::EvpKeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  return proxy::EvpKeyPtr(EVP_EC_gen(kind.c_str()));
}

void add_extension(X509* certificate, const X509* issuer, const std::string& name, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, const_cast<X509*>(issuer), certificate, nullptr, nullptr, 0);
  const ExtensionOwner made(X509V3_EXT_nconf(nullptr, &context, name.c_str(), value.c_str()));
  must(made != nullptr && X509_add_ext(certificate, made.get(), -1) == 1, (name + "=" + value).c_str());
}

void push_name(GENERAL_NAMES* names, int kind, ASN1_STRING* value) {
  GENERAL_NAME* const name = GENERAL_NAME_new();
  must(name != nullptr && value != nullptr, "a name");
  GENERAL_NAME_set0_value(name, kind, value);
  must(sk_GENERAL_NAME_push(names, name) > 0, "a name");
}

void add_alternative_names(X509* certificate, const CertificateSpec& spec) {
  if (spec.dns.empty() && spec.addresses.empty()) return;
  const NamesOwner names(sk_GENERAL_NAME_new_null());
  for (const std::string& name : spec.dns) {
    ASN1_IA5STRING* const text = ASN1_IA5STRING_new();
    must(ASN1_STRING_set(text, name.data(), static_cast<int>(name.size())) == 1, "a name");
    push_name(names.get(), GEN_DNS, text);
  }
  for (const std::string& address : spec.addresses) push_name(names.get(), GEN_IPADD, a2i_IPADDRESS(address.c_str()));
  must(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), spec.critical_names ? 1 : 0, 0) == 1, "names");
}

void add_extensions(X509* certificate, const CertificateSpec& spec, const Issued* issuer) {
  const X509* const above = issuer != nullptr ? issuer->get() : certificate;
  std::vector<std::pair<std::string, std::string>> all;
  if (spec.default_extensions) {
    all.emplace_back("basicConstraints", spec.is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
    all.emplace_back("keyUsage", spec.is_ca ? "critical,keyCertSign,cRLSign,digitalSignature"
                                            : "critical,digitalSignature,keyEncipherment");
    if (!spec.is_ca) all.emplace_back("extendedKeyUsage", "serverAuth");
    all.emplace_back("subjectKeyIdentifier", "hash");
    if (issuer != nullptr && X509_get0_subject_key_id(issuer->certificate.get()) != nullptr) {
      all.emplace_back("authorityKeyIdentifier", "keyid");
    }
  }
  for (const auto& own : spec.extensions) {
    std::erase_if(all, [&](const auto& extension) { return extension.first == own.first; });
    if (!own.second.empty()) all.push_back(own);
  }
  for (const auto& [name, value] : all) add_extension(certificate, above, name, value);
  add_alternative_names(certificate, spec);
}

}  // namespace

EVP_PKEY* test_key(const std::string& kind, const std::string& use) {
  static std::map<std::string, proxy::EvpKeyPtr> keys;
  proxy::EvpKeyPtr& key = keys[kind + '/' + use];
  if (key == nullptr) key = make_key(kind);
  must(key != nullptr, kind.c_str());
  return key.get();
}

Issued issue(const CertificateSpec& spec, const Issued* issuer) {
  Issued made{proxy::X509Ptr(X509_new()), test_key(spec.key, spec.key_use.empty() ? spec.common_name : spec.key_use)};
  X509* const certificate = made.get();
  std::array<unsigned char, 8> serial{};
  must(RAND_bytes(serial.data(), serial.size()) == 1, "octets");
  std::uint64_t number = 1;
  for (const unsigned char octet : serial) number = number << 7U | (octet & 0x7FU);
  must(X509_set_version(certificate, spec.version - 1) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number) == 1,
       "a serial number");
  X509_gmtime_adj(X509_getm_notBefore(certificate), static_cast<long>(spec.from));
  X509_gmtime_adj(X509_getm_notAfter(certificate), static_cast<long>(spec.to));
  must(X509_set_pubkey(certificate, made.key) == 1, "a key");
  if (!spec.common_name.empty()) {
    must(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(spec.common_name.data()),
                                    static_cast<int>(spec.common_name.size()), -1, 0) == 1,
         "a subject");
  }
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer != nullptr ? issuer->get() : certificate));
  if (spec.version >= 3) add_extensions(certificate, spec, issuer);
  EVP_PKEY* const signer = issuer != nullptr ? issuer->key : made.key;
  const EVP_MD* const digest =
      EVP_PKEY_get_base_id(signer) == EVP_PKEY_ED25519 ? nullptr : EVP_get_digestbyname(spec.digest.c_str());
  must(X509_sign(certificate, signer, digest) > 0, "a signature");
  return made;
}

Issued copy_of(const Issued& issued) { return {proxy::share(issued.get()), issued.key}; }

std::string pem_of(const std::vector<const X509*>& certificates) {
  const proxy::BioPtr out(BIO_new(BIO_s_mem()));
  for (const X509* const certificate : certificates) must(PEM_write_bio_X509(out.get(), certificate) == 1, "PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string revocation_list(const Issued& issuer, const std::vector<const X509*>& revoked, bool expired) {
  const proxy::X509CrlPtr crl(X509_CRL_new());
  const TimeOwner begin(X509_gmtime_adj(nullptr, -7200)), end(X509_gmtime_adj(nullptr, expired ? -3600 : 3600));
  must(X509_CRL_set_version(crl.get(), 1) == 1 &&
           X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(issuer.get())) == 1 &&
           X509_CRL_set1_lastUpdate(crl.get(), begin.get()) == 1 && X509_CRL_set1_nextUpdate(crl.get(), end.get()) == 1,
       "a revocation list");
  for (const X509* const certificate : revoked) {
    X509_REVOKED* const entry = X509_REVOKED_new();
    must(X509_REVOKED_set_serialNumber(entry, const_cast<ASN1_INTEGER*>(X509_get0_serialNumber(certificate))) == 1 &&
             X509_REVOKED_set_revocationDate(entry, begin.get()) == 1 && X509_CRL_add0_revoked(crl.get(), entry) == 1,
         "an entry");
  }
  must(X509_CRL_sort(crl.get()) == 1 && X509_CRL_sign(crl.get(), issuer.key, EVP_sha256()) > 0, "a signature");
  const proxy::BioPtr out(BIO_new(BIO_s_mem()));
  must(PEM_write_bio_X509_CRL(out.get(), crl.get()) == 1, "PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string ocsp_answer(const X509* certificate, const Issued& issuer, const StapleSpec& spec) {
  const BasicOwner basic(OCSP_BASICRESP_new());
  const CertificateIdOwner id(OCSP_cert_to_id(EVP_sha1(), certificate, issuer.get()));
  const TimeOwner begin(X509_gmtime_adj(nullptr, static_cast<long>(spec.from))),
      end(X509_gmtime_adj(nullptr, static_cast<long>(spec.to)));
  must(OCSP_basic_add1_status(basic.get(), id.get(), spec.revoked ? V_OCSP_CERTSTATUS_REVOKED : V_OCSP_CERTSTATUS_GOOD,
                              0, spec.revoked ? begin.get() : nullptr, begin.get(), end.get()) != nullptr,
       "a status");
  const Issued& responder = spec.responder != nullptr ? *spec.responder : issuer;
  must(OCSP_basic_sign(basic.get(), responder.get(), responder.key, EVP_sha256(), nullptr, 0) == 1, "a signature");
  const ResponseOwner response(OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic.get()));
  const int size = i2d_OCSP_RESPONSE(response.get(), nullptr);
  must(size > 0, "a response");
  std::string der(static_cast<std::size_t>(size), '\0');
  auto* at = reinterpret_cast<unsigned char*>(der.data());
  i2d_OCSP_RESPONSE(response.get(), &at);
  return der;
}

std::string hex_key_hash(const X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  must(size > 0, "a key");
  std::array<std::uint8_t, 32> hash{};
  EVP_Digest(der, static_cast<std::size_t>(size), hash.data(), nullptr, EVP_sha256(), nullptr);
  OPENSSL_free(der);
  return to_hex(hash);
}

}  // namespace bloomwall::test
