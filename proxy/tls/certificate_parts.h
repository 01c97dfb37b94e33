// What certificates are made of, and what they say in plain values. For code that makes certificates
// (authority_maker.h, leaf_mint.h) or shows them.
// Errors: std::bad_alloc where OpenSSL has no memory; std::runtime_error where it has no random octets.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

// --- to make them

// DER (X.690): the tag, the length of the content, the content.
std::string der(std::uint8_t tag, std::string_view content);
inline constexpr std::uint8_t kDerBitString = 0x03, kDerOctetString = 0x04, kDerSequence = 0x30;
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
std::string address_octets(const std::string& text);
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

}  // namespace bloomwall::proxy
