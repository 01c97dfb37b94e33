// What is read from a certificate beyond OpenSSL's own verification.
// Threads: any. Cost: a hash of a key 1-2 us, the others below 1 us once OpenSSL has read the extensions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/x509.h>

#include <cstddef>
#include <string>
#include <vector>

#include "proxy/tls/certificate_parts.h"

namespace bloomwall::proxy {

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

}  // namespace bloomwall::proxy
