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

// Counts the elements of DER or BER (X.690 section 8.1) in `from`, as deep as OpenSSL reads them.
class PartCount {
 public:
  explicit PartCount(PeerCertificates& into) : into_(into) {}

  void count(std::span<const unsigned char> from, int depth = 0) {
    while (const auto element = take(from)) {
      ++into_.parts;
      if (element->is_named) ++into_.names;
      if (element->is_bits && depth >= kDepthOfKeys && element->content.size() > kLongKey) {
        into_.long_keys += element->content.size();
      }
      if (depth >= kDeepest || into_.is_too_large()) continue;
      if (element->is_constructed || is_wrapper(*element)) count(element->content, depth + 1);
    }
  }

 private:
  static constexpr int kDeepest = 40;     // OpenSSL: 30
  static constexpr int kDepthOfKeys = 2;  // the signature, a string of bits as well, has 1
  struct Element {
    bool is_constructed = false, is_octets = false, is_bits = false, is_named = false;
    std::span<const unsigned char> content;
  };

  // Off the front. Nothing: it is at its end, or has no form.
  static std::optional<Element> take(std::span<const unsigned char>& from) {
    const auto tag = take_number(from, 1);
    if (!tag) return std::nullopt;
    for (bool has_more = (*tag & 0x1fU) == 0x1fU; has_more;) {
      const auto next = take_number(from, 1);
      if (!next) return std::nullopt;
      has_more = (*next & 0x80U) != 0;
    }
    auto size = take_number(from, 1);
    if (!size) return std::nullopt;
    if (*size == 0x80) {
      size = from.size();  // to a mark behind its parts, which are read as if they were all that is left
    } else if (*size > 0x80) {
      if (*size > 0x80 + sizeof(std::size_t)) return std::nullopt;
      size = take_number(from, *size - 0x80);
    }
    if (!size || *size > from.size()) return std::nullopt;
    Element out{.is_constructed = (*tag & 0x20U) != 0,
                .is_octets = *tag == 0x04,
                .is_bits = *tag == 0x03,
                .is_named = (*tag & 0xc0U) == 0x80U,
                .content = from.first(*size)};
    from = from.subspan(*size);
    return out;
  }

  // Octets that hold an element themselves, as values of extensions do; what stands behind it OpenSSL leaves unread.
  static bool is_wrapper(const Element& element) {
    std::span<const unsigned char> rest = element.content;
    return element.is_octets && take(rest);
  }

  PeerCertificates& into_;
};

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
    const std::span<const unsigned char> before = rest;
    if (!skip_vector(rest, 3)) return std::nullopt;
    PartCount(found).count(before.subspan(3, before.size() - rest.size() - 3));
    if (is_tls13 && !skip_vector(rest, 2)) return std::nullopt;
  }
  return found;
}

}  // namespace bloomwall::proxy
