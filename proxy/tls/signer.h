// Signs certificates with the key of a certificate authority: to-be-signed octets in, signature out. One call, so that
// the key may be in this process, in a token or in another process.
// Threads: any, several at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

class Signer {
 public:
  virtual ~Signer() = default;
  // The signature algorithm as OpenSSL numbers it (NID_ecdsa_with_SHA256, ...), as it stands in the certificate.
  virtual int algorithm() const = 0;
  // Takes less than 0.1 ms and waits for nothing: it may run on an event loop. All others run on a thread.
  virtual bool is_fast() const = 0;
  // The signature over the octets (which it digests as the algorithm says), as it stands in the certificate: of ECDSA
  // the DER of (r, s). Errors: one line.
  virtual tl::expected<std::string, std::string> sign(std::span<const unsigned char> octets) const = 0;
};
using SignerPtr = std::shared_ptr<const Signer>;

// A key of this process: RSA of 2,048 bits and more (SHA-256), EC P-256 (SHA-256, the only fast one), P-384 (SHA-384),
// P-521 (SHA-512). Errors: a key of another kind, which clients do not verify.
tl::expected<SignerPtr, std::string> make_signer(EvpKeyPtr key);

}  // namespace bloomwall::proxy
