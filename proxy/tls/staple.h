// A stapled OCSP answer (RFC 6066, RFC 6960): what it says of one certificate. An answer counts only if the issuer, or
// a responder that the issuer delegated, signed it, if it is about this certificate, and if it is current (5 minutes of
// leeway; without an end it holds for 7 days). Everything else is no answer. Nothing is asked on the wire.
// Threads: any. Cost: one or two signatures to verify, 0.05-0.3 ms.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/x509.h>

#include <cstdint>
#include <span>

namespace bloomwall::proxy {

enum class Staple : std::uint8_t { none, good, revoked };

Staple read_staple(X509* certificate, X509* issuer, std::span<const unsigned char> answer, std::int64_t now);

}  // namespace bloomwall::proxy
