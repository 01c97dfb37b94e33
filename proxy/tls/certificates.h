// Certificates: what they are made of, what they say, and why one is refused (CertificateError).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/x509.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

// What certificates are made of, and what they say in plain values. For code that makes certificates
// (authority_maker.h, leaf_cache.h) or shows them.
// Errors: std::bad_alloc where OpenSSL has no memory; std::runtime_error where it has no random octets.
// Threads: any.

// --- to make them

// DER (X.690): the tag, the length of the content, the content.
std::string der(std::uint8_t tag, std::string_view content);
inline constexpr std::uint8_t kDerOctetString = 0x04, kDerSequence = 0x30;
// Context-specific tags of GeneralName (RFC 5280 section 4.2.1.6).
inline constexpr std::uint8_t kDerDnsName = 0x82, kDerAddress = 0x87;

// The value of an extension as DER.
X509ExtensionPtr make_extension(int nid, bool critical, std::string_view value);
void add_extension(X509* certificate, const X509ExtensionPtr& extension);
// 127 random bits, positive, without leading zero octets: two certificates never share one.
void set_random_serial(X509* certificate);
void set_validity(X509* certificate, std::int64_t not_before, std::int64_t not_after);  // seconds since 1970
// One UTF8String more at the end of the name.
void add_name_part(X509_NAME* name, int nid, std::string_view text);
// A subject key identifier for the key: the leftmost 160 bits of the SHA-256 of its bits (RFC 7093, method 1).
std::string key_identifier(EVP_PKEY* key);

// An IPv4 or IPv6 address in text, without brackets or zone, as its 4 or 16 octets; empty: it is none.
std::string address_octets(std::string_view text);
// A host name as certificates hold it: lower-case letters, digits, '-' and '_' in labels of 1 to 63 octets, at most 253
// in all, no dot at the end; its last label is no number.
bool is_certificate_name(std::string_view name);

// --- to read them

using Sha256Octets = std::array<std::uint8_t, 32>;
Sha256Octets sha256_of(std::string_view octets);
std::string der_of(const X509* certificate);
std::string pem_of(const X509* certificate);
// Of the whole certificate, as users compare it: "AB:CD:...".
Sha256Octets fingerprint_of(const X509* certificate);
std::string fingerprint_text(const Sha256Octets& fingerprint);
std::int64_t unix_time_of(const ASN1_TIME* time);   // 0 where it is none
std::string subject_text(const X509* certificate);  // "CN=..., O=..." (RFC 2253), ASCII
std::string key_text(const X509* certificate);      // "EC P-256", "RSA 2048"
// What an authority key identifier must name: the octets of the certificate's own subject key identifier; where it has
// none, the SHA-1 of its key (RFC 5280 section 4.2.1.2, method 1).
std::string issuer_key_octets(X509* certificate);
bool is_self_signed(X509* certificate);

// What is read from a certificate beyond OpenSSL's own verification.
// Threads: any. Cost: a hash of a key 1-2 us, the others below 1 us once OpenSSL has read the extensions.

using KeyHash = Sha256Octets;  // of a DER SubjectPublicKeyInfo

std::string public_key_info(const X509* certificate);  // DER SubjectPublicKeyInfo
KeyHash key_hash(const X509* certificate);

// RSA of 2048 bits, EC of 256 bits, or Ed25519; nothing else.
bool has_strong_key(const X509* certificate);
bool has_scts(const X509* certificate);     // embedded, RFC 6962
bool must_staple(const X509* certificate);  // RFC 7633 status_request
// Names and addresses of subjectAltName, the first `most` of them, as they stand in it: any octets.
std::vector<std::string> alternative_names(const X509* certificate, std::size_t most);
std::string signature_text(const X509* certificate);  // "ecdsa-with-SHA256"
bool allows_server(const X509* certificate);          // extended key usage has serverAuth, or is absent

// Why an origin's certificate was refused: fourteen causes, which are the label `cause` of the metric
// bloomwall_origin_certificate_errors_total. Append only.
enum class CertificateError : std::uint8_t {
  none,
  expired,
  not_yet_valid,
  wrong_name,        // no dNSName or iPAddress fits
  self_signed,       // the origin's own certificate, which no root signed
  unknown_issuer,    // the root is not trusted, or an intermediate is missing behind others
  weak,              // key or signature below what rule 5 asks for
  not_permitted,     // purpose, CA flag, path length, name constraints, unknown critical extension
  revoked,           // by crl_file or a stapled OCSP answer
  no_staple,         // must-staple without a valid stapled answer
  own_ca,            // issued by an interception CA of this proxy
  distrusted,        // a key of the path is in tls_inspection.verify.distrust
  malformed,         // a signature that does not fit, a path too long, anything else
  too_large,         // more certificates, or more octets of them, than PeerCertificates takes: none was looked at
  incomplete_chain,  // it came alone, and what issued it is not known
};

inline constexpr std::array kCertificateErrors{
    CertificateError::expired,       CertificateError::not_yet_valid,    CertificateError::wrong_name,
    CertificateError::self_signed,   CertificateError::unknown_issuer,   CertificateError::weak,
    CertificateError::not_permitted, CertificateError::revoked,          CertificateError::no_staple,
    CertificateError::own_ca,        CertificateError::distrusted,       CertificateError::malformed,
    CertificateError::too_large,     CertificateError::incomplete_chain,
};

constexpr std::string_view to_string(CertificateError error) {
  switch (error) {
    case CertificateError::none:
      return "none";
    case CertificateError::expired:
      return "expired";
    case CertificateError::not_yet_valid:
      return "not_yet_valid";
    case CertificateError::wrong_name:
      return "wrong_name";
    case CertificateError::self_signed:
      return "self_signed";
    case CertificateError::unknown_issuer:
      return "unknown_issuer";
    case CertificateError::weak:
      return "weak";
    case CertificateError::not_permitted:
      return "not_permitted";
    case CertificateError::revoked:
      return "revoked";
    case CertificateError::no_staple:
      return "no_staple";
    case CertificateError::own_ca:
      return "own_ca";
    case CertificateError::distrusted:
      return "distrusted";
    case CertificateError::malformed:
      return "malformed";
    case CertificateError::too_large:
      return "too_large";
    case CertificateError::incomplete_chain:
      return "incomplete_chain";
  }
  return "unknown";
}

const char* words_of(CertificateError error);  // for people: of those that OpenSSL has no words for

// Of an error of OpenSSL's verification, X509_V_ERR_*.
CertificateError cause_of(int x509_error);

}  // namespace bloomwall::proxy
