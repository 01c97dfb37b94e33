// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/peer_certificates.h"

#include <openssl/ssl3.h>

#include <algorithm>

namespace bloomwall::proxy {
namespace {

// Takes a number of that many octets off the front. Nothing: there are not so many.
std::optional<std::size_t> take_number(std::span<const unsigned char>& from, std::size_t octets) {
  if (from.size() < octets) return std::nullopt;
  std::size_t number = 0;
  for (const unsigned char octet : from.first(octets)) number = number << 8U | octet;
  from = from.subspan(octets);
  return number;
}

// Likewise what stands behind its length, of which `octets` are the number.
bool skip_vector(std::span<const unsigned char>& from, std::size_t octets) {
  const auto size = take_number(from, octets);
  if (!size || *size > from.size()) return false;
  from = from.subspan(*size);
  return true;
}

}  // namespace

// RFC 5246 section 7.4.2, RFC 8446 section 4.4.2.
std::optional<PeerCertificates> measure_certificates(std::span<const unsigned char> message, bool is_tls13) {
  constexpr std::size_t kHeader = 4;
  if (message.size() < kHeader || message.front() != SSL3_MT_CERTIFICATE) return std::nullopt;
  std::span<const unsigned char> rest = message.subspan(kHeader);
  PeerCertificates found{.count = 0, .octets = rest.size()};
  if (is_tls13 && !skip_vector(rest, 1)) return std::nullopt;  // certificate_request_context
  if (!take_number(rest, 3)) return std::nullopt;
  for (; !rest.empty(); ++found.count) {
    if (!skip_vector(rest, 3) || (is_tls13 && !skip_vector(rest, 2))) return std::nullopt;
  }
  return found;
}

}  // namespace bloomwall::proxy
