// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/certificate_facts.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>

#include "base/handles.h"

namespace bloomwall::proxy {
namespace {

using FeaturesPtr = std::unique_ptr<TLS_FEATURE, FreeWith<TLS_FEATURE_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;

std::string octets_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// As inet_ntop() writes it; empty: not 4 or 16 octets.
std::string address_text(const std::string& octets) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = octets.size() == sizeof(in6_addr) ? AF_INET6 : AF_INET;
  if (octets.size() != sizeof(in6_addr) && octets.size() != sizeof(in_addr)) return {};
  return inet_ntop(family, octets.data(), text.data(), text.size()) == nullptr ? std::string() : text.data();
}

}  // namespace

std::string public_key_info(const X509* certificate) {
  const X509_PUBKEY* const key = X509_get_X509_PUBKEY(certificate);
  const int size = i2d_X509_PUBKEY(key, nullptr);
  if (size <= 0) return {};
  std::string out(static_cast<std::size_t>(size), '\0');
  auto* at = reinterpret_cast<unsigned char*>(out.data());
  return i2d_X509_PUBKEY(key, &at) == size ? out : std::string();
}

KeyHash key_hash(const X509* certificate) { return sha256_of(public_key_info(certificate)); }

bool has_strong_key(const X509* certificate) {
  constexpr int kRsaBits = 2048, kEcBits = 256;
  const EVP_PKEY* const key = X509_get0_pubkey(certificate);
  if (key == nullptr) return false;
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
    case EVP_PKEY_RSA_PSS:
      return EVP_PKEY_get_bits(key) >= kRsaBits;
    case EVP_PKEY_EC:
      return EVP_PKEY_get_bits(key) >= kEcBits;
    case EVP_PKEY_ED25519:
      return true;
    default:
      return false;
  }
}

bool has_scts(const X509* certificate) { return X509_get_ext_by_NID(certificate, NID_ct_precert_scts, -1) >= 0; }

bool must_staple(const X509* certificate) {
  constexpr std::int64_t kStatusRequest = 5;
  const FeaturesPtr features(
      static_cast<TLS_FEATURE*>(X509_get_ext_d2i(certificate, NID_tlsfeature, nullptr, nullptr)));
  for (int i = 0; i < sk_ASN1_INTEGER_num(features.get()); ++i) {
    std::int64_t feature = 0;
    if (ASN1_INTEGER_get_int64(&feature, sk_ASN1_INTEGER_value(features.get(), i)) == 1 && feature == kStatusRequest) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> alternative_names(const X509* certificate, std::size_t most) {
  std::vector<std::string> out;
  const NamesPtr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()) && out.size() < most; ++i) {
    int kind = 0;
    const void* const value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &kind);
    if (kind == GEN_DNS) out.push_back(octets_of(static_cast<const ASN1_STRING*>(value)));
    if (kind == GEN_IPADD) out.push_back(address_text(octets_of(static_cast<const ASN1_STRING*>(value))));
  }
  return out;
}

std::string signature_text(const X509* certificate) {
  const char* const name = OBJ_nid2ln(X509_get_signature_nid(certificate));
  return name == nullptr ? "unknown" : name;
}

// OpenSSL also takes Netscape's and Microsoft's "server gated cryptography".
bool allows_server(const X509* certificate) {
  return (X509_get_extended_key_usage(const_cast<X509*>(certificate)) & XKU_SSL_SERVER) != 0;
}

}  // namespace bloomwall::proxy
