// The list of certificates that a peer sends in its handshake, measured before OpenSSL parses any of it: parsing costs
// 0.2 ms and 1.3 KB a certificate, and happens within one step of the handshake, whether or not the certificate is of
// any use.
// Limits: kMostCertificates and kMostOctets, of origins, parents and clients alike. Chains in use have up to five
// certificates, and the largest ones, with a thousand names, have 40 KB.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace bloomwall::proxy {

inline constexpr std::size_t kMostCertificates = 16;
inline constexpr std::size_t kMostCertificateOctets = std::size_t{48} * 1024;

struct PeerCertificates {
  std::size_t count = 0, octets = 0;
  bool is_too_large() const { return count > kMostCertificates || octets > kMostCertificateOctets; }
  // Nearly what OpenSSL holds of them as long as the connection lives.
  std::size_t memory() const { return octets + count * 1024; }
};

// `message`: a Certificate message with its header of four octets, of TLS 1.2 or 1.3. Nothing: another message, or one
// that OpenSSL will refuse for its form.
std::optional<PeerCertificates> measure_certificates(std::span<const unsigned char> message, bool is_tls13);

}  // namespace bloomwall::proxy
