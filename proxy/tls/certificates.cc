// SPDX-License-Identifier: Apache-2.0

#include "proxy/tls/certificates.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <climits>
#include <ctime>
#include <memory>
#include <new>

#include "base/handles.h"
#include "base/ip.h"
#include "base/random.h"
#include "base/text.h"

namespace bloomwall::proxy {
namespace {

void need(bool done) {
  if (!done) throw std::bad_alloc();
}

const unsigned char* octets_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

int length_of(std::string_view text) {
  need(text.size() <= INT_MAX);
  return static_cast<int>(text.size());
}

// What has been written into a BIO of memory.
std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

BioPtr new_memory() {
  BioPtr memory(BIO_new(BIO_s_mem()));
  need(memory != nullptr);
  return memory;
}

// The bits of the key in a certificate: what key identifiers are digests of.
std::string key_bits(const X509* certificate) {
  const ASN1_BIT_STRING* const bits = X509_get0_pubkey_bitstr(certificate);
  need(bits != nullptr);
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(bits)),
          static_cast<std::size_t>(ASN1_STRING_length(bits))};
}

}  // namespace

std::string der(std::uint8_t tag, std::string_view content) {
  std::string out(1, static_cast<char>(tag));
  const std::size_t size = content.size();
  if (size < 0x80) {
    out.push_back(static_cast<char>(size));
  } else {
    std::string length;
    for (std::size_t rest = size; rest > 0; rest >>= 8) length.insert(length.begin(), static_cast<char>(rest & 0xff));
    out.push_back(static_cast<char>(0x80 | length.size()));
    out += length;
  }
  return out.append(content);
}

X509ExtensionPtr make_extension(int nid, bool critical, std::string_view value) {
  const OctetStringPtr string(ASN1_OCTET_STRING_new());
  need(string != nullptr && ASN1_OCTET_STRING_set(string.get(), octets_of(value), length_of(value)) == 1);
  X509ExtensionPtr extension(X509_EXTENSION_create_by_NID(nullptr, nid, critical ? 1 : 0, string.get()));
  need(extension != nullptr);
  return extension;
}

void add_extension(X509* certificate, const X509ExtensionPtr& extension) {
  need(X509_add_ext(certificate, extension.get(), -1) == 1);
}

void set_random_serial(X509* certificate) {
  std::array<unsigned char, 16> octets{};
  do {
    fill_random(octets);
    octets[0] &= 0x7f;
  } while (octets[0] == 0);  // DER has no leading zeros
  need(ASN1_STRING_set(X509_get_serialNumber(certificate), octets.data(), static_cast<int>(octets.size())) == 1);
}

void set_validity(X509* certificate, std::int64_t not_before, std::int64_t not_after) {
  need(ASN1_TIME_set(X509_getm_notBefore(certificate), not_before) != nullptr &&
       ASN1_TIME_set(X509_getm_notAfter(certificate), not_after) != nullptr);
}

void add_name_part(X509_NAME* name, int nid, std::string_view text) {
  need(X509_NAME_add_entry_by_NID(name, nid, V_ASN1_UTF8STRING, octets_of(text), length_of(text), -1, 0) == 1);
}

std::string key_identifier(EVP_PKEY* key) {
  const X509Ptr holder(X509_new());
  need(holder != nullptr && X509_set_pubkey(holder.get(), key) == 1);
  const Sha256Octets digest = sha256_of(key_bits(holder.get()));
  constexpr std::size_t kOctets = 20;
  return {reinterpret_cast<const char*>(digest.data()), kOctets};
}

std::string address_octets(std::string_view text) {
  const auto address = IpAddress::parse(text);
  if (!address) return {};
  const auto octets = text.find(':') == std::string_view::npos ? address->wire_octets() : std::span(address->octets);
  return {octets.begin(), octets.end()};
}

bool is_certificate_name(std::string_view name) {
  constexpr std::size_t kMostName = 253, kMostLabel = 63;
  if (name.empty() || name.size() > kMostName) return false;
  bool is_number = true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view label = name.substr(begin, end - begin);
    const auto belongs = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_'; };
    if (label.empty() || label.size() > kMostLabel || !std::ranges::all_of(label, belongs)) return false;
    is_number = std::ranges::all_of(label, is_digit);
    begin = end + 1;
  }
  return !is_number;
}

Sha256Octets sha256_of(std::string_view octets) {
  Sha256Octets digest{};
  need(EVP_Digest(octets.data(), octets.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return digest;
}

std::string der_of(const X509* certificate) {
  unsigned char* made = nullptr;
  const int size = i2d_X509(certificate, &made);
  const OctetsPtr owned(made);
  need(size > 0);
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)};
}

std::string pem_of(const X509* certificate) {
  const BioPtr memory = new_memory();
  need(PEM_write_bio_X509(memory.get(), certificate) == 1);
  return text_of(memory.get());
}

Sha256Octets fingerprint_of(const X509* certificate) { return sha256_of(der_of(certificate)); }

std::string fingerprint_text(const Sha256Octets& fingerprint) {
  std::string out;
  for (const std::uint8_t octet : fingerprint) out += fmt::format("{}{:02X}", out.empty() ? "" : ":", octet);
  return out;
}

std::int64_t unix_time_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

std::string subject_text(const X509* certificate) {
  const BioPtr memory = new_memory();
  // RFC 2253, which escapes control and non-ASCII octets, with a blank behind each comma.
  constexpr unsigned long kFlags =
      ASN1_STRFLGS_RFC2253 | XN_FLAG_SEP_CPLUS_SPC | XN_FLAG_DN_REV | XN_FLAG_FN_SN | XN_FLAG_DUMP_UNKNOWN_FIELDS;
  need(X509_NAME_print_ex(memory.get(), X509_get_subject_name(certificate), 0, kFlags) >= 0);
  return text_of(memory.get());
}

std::string key_text(const X509* certificate) {
  const EVP_PKEY* const key = X509_get0_pubkey(certificate);
  if (key == nullptr) return "unknown";
  const int bits = EVP_PKEY_get_bits(key);
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
      return fmt::format("RSA {}", bits);
    case EVP_PKEY_EC:
      return fmt::format("EC P-{}", bits);
    default:
      break;
  }
  const char* const name = EVP_PKEY_get0_type_name(key);
  return name != nullptr ? name : "unknown";
}

std::string issuer_key_octets(X509* certificate) {
  if (const ASN1_OCTET_STRING* const own = X509_get0_subject_key_id(certificate)) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(own)),
            static_cast<std::size_t>(ASN1_STRING_length(own))};
  }
  const std::string bits = key_bits(certificate);
  std::string digest(20, '\0');
  need(EVP_Digest(bits.data(), bits.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr, EVP_sha1(),
                  nullptr) == 1);
  return digest;
}

bool is_self_signed(X509* certificate) {
  const bool is = X509_self_signed(certificate, 1) == 1;
  ERR_clear_error();
  return is;
}

namespace {

using FeaturesPtr = std::unique_ptr<TLS_FEATURE, FreeWith<TLS_FEATURE_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;

std::string octets_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// Empty: not 4 or 16 octets.
std::string address_text(std::string_view octets) {
  IpAddress address = IpAddress::v4(0);
  if (octets.size() != 4 && octets.size() != address.octets.size()) return {};
  std::copy(octets.begin(), octets.end(), address.octets.end() - static_cast<std::ptrdiff_t>(octets.size()));
  return address.text();
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

CertificateError cause_of(int x509_error) {
  switch (x509_error) {
    case X509_V_OK:
      return CertificateError::none;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return CertificateError::expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return CertificateError::not_yet_valid;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return CertificateError::wrong_name;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return CertificateError::self_signed;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_UNTRUSTED:
      return CertificateError::unknown_issuer;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
      return CertificateError::weak;
    case X509_V_ERR_INVALID_CA:
    case X509_V_ERR_INVALID_PURPOSE:
    case X509_V_ERR_PATH_LENGTH_EXCEEDED:
    case X509_V_ERR_KEYUSAGE_NO_CERTSIGN:
    case X509_V_ERR_PERMITTED_VIOLATION:
    case X509_V_ERR_EXCLUDED_VIOLATION:
    case X509_V_ERR_SUBTREE_MINMAX:
    case X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE:
    case X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX:
    case X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
    case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION:
    case X509_V_ERR_CERT_REJECTED:
      return CertificateError::not_permitted;
    case X509_V_ERR_CERT_REVOKED:
      return CertificateError::revoked;
    default:
      return CertificateError::malformed;
  }
}

const char* words_of(CertificateError error) {
  switch (error) {
    case CertificateError::own_ca:
      return "the certificate was issued by this proxy's own CA";
    case CertificateError::distrusted:
      return "a key in the certificate's chain is distrusted by the configuration";
    case CertificateError::weak:
      return "a key in the certificate's chain is too weak or of an unknown kind";
    case CertificateError::not_permitted:
      return "a certificate in the chain may not be used for this purpose";
    case CertificateError::revoked:
      return "certificate revoked";
    case CertificateError::too_large:
      return "more certificates than 16, than 48 KiB of them, or than 4096 parts in them";
    case CertificateError::incomplete_chain:
      return "the origin sent its certificate alone, without the intermediate that issued it: "
             "tls_inspection.verify.intermediates or .intermediates_file can give it";
    case CertificateError::no_staple:
      return "the certificate demands a stapled OCSP response, and none that is valid was sent";
    default:
      return "the certificate is not accepted";
  }
}

}  // namespace bloomwall::proxy
