// The file `tls_inspection.verify.trust_exceptions`: the only way to an origin whose certificate fails. One line each:
//
//   HOST  SPKI-SHA-256  LAST-DAY  [# reason]
//   printer.example.com  9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  2027-01-31  # self-signed
//
// HOST: one name (A-label; no wildcard, no port) or one address without brackets. SPKI-SHA-256: hash of the public key
// in 64 hexadecimal digits, or in base64 behind "sha256/" or "sha256//" (curl). LAST-DAY: the exception holds until its
// end in UTC. Several lines for one host are several keys. An exception that has ended is no error.
// Errors: "FILE:LINE: what is wrong". Threads: immutable once parsed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "proxy/tls/certificates.h"

namespace bloomwall::proxy {

// 64 hexadecimal digits, or base64 behind "sha256/" or "sha256//".
std::optional<KeyHash> parse_key_hash(std::string_view text);

class TrustExceptions {
 public:
  // `file`: its name, for errors.
  static tl::expected<TrustExceptions, std::string> parse(std::string_view text, std::string_view file);

  // Until when (seconds since 1970) the key is accepted from the host; nothing where it is not, or no longer. The host
  // is in lower case, an address as IpAddress writes it.
  std::optional<std::int64_t> end_of(const std::string& host, const KeyHash& key, std::int64_t now) const;
  bool has(const std::string& host) const { return by_host_.contains(host); }
  std::size_t size() const { return by_host_.size(); }

 private:
  struct Accepted {
    KeyHash key{};
    std::int64_t end = 0;
  };
  std::unordered_multimap<std::string, Accepted> by_host_;
};

}  // namespace bloomwall::proxy
