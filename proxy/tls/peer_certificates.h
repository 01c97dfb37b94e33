// The list of certificates that a peer sends in its handshake, measured before OpenSSL parses any of it: parsing is
// done in one step of the handshake, whether or not the certificate is of any use, and what it makes of each part (a
// name, an extension, an attribute) is held as long as the connection lives. Parts are cheap to send: a name of one
// letter has 3 octets, and takes 120.
// Limits: kMostCertificates, kMostCertificateOctets and kMostCertificateParts, of origins, parents and clients alike.
// Chains in use have up to five certificates of 60 to 300 parts, and the largest ones, with a thousand names, have
// 40 KB. Cost: linear, 0.1 ms for the worst list.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace bloomwall::proxy {

inline constexpr std::size_t kMostCertificates = 16;
inline constexpr std::size_t kMostCertificateOctets = std::size_t{48} * 1024;
inline constexpr std::size_t kMostCertificateParts = 4096;
inline constexpr std::size_t kLongKey = 640;  // octets; RSA of 4,096 bits has 526, ML-KEM-512 has 800

struct PeerCertificates {
  std::size_t count = 0, octets = 0;
  std::size_t parts = 0;  // elements of DER, those within extensions included
  std::size_t names = 0;  // of these, those with a tag that the context gives its meaning: alternative names and such
  std::size_t long_keys = 0;  // octets of public keys that are longer than any in use but those of lattices: kLongKey
  bool is_too_large() const {
    return count > kMostCertificates || octets > kMostCertificateOctets || parts > kMostCertificateParts;
  }
  // What OpenSSL holds of them as long as the connection lives, at most, measured with OpenSSL 3.0 and 3.5 (the test
  // PeerCertificates.AreHeldInNoMoreThanIsCounted). Their octets as they came and once more in the values of fields; an
  // object with its list for each part; for each certificate its own object, the result of its check and its key with
  // the group of that (P-384: 2,040 octets with 3.0). OpenSSL 3.5 has keys of lattices, too, and expands them as soon
  // as they are read: one of ML-KEM-1024 to 16 vectors of 512 octets, which is 5.1 times what was sent.
  std::size_t memory() const { return 2 * octets + 72 * (parts + names) + 2048 * count + 6 * long_keys; }
};

// `message`: a Certificate message with its header of four octets, of TLS 1.2 or 1.3. Nothing: another message, or one
// that OpenSSL will refuse for its form.
std::optional<PeerCertificates> measure_certificates(std::span<const unsigned char> message, bool is_tls13);

}  // namespace bloomwall::proxy
