// TLS sessions with origins, for abbreviated handshakes: up to 2 for each (host, port, name), 10,000 in all; beyond
// that the origin that was used least recently loses its own. A session is kept until 24 hours after the certificate of
// its first handshake was verified, and never beyond that certificate's end; a resumed session inherits that end.
// A session of TLS 1.3 is used once (RFC 8446 C.4), one of TLS 1.2 until its end.
// Memory: 1.5 KiB, and the origin's certificates (8-20 KiB), which the sessions of one handshake share.
// Threads: any (a mutex, held for a look-up). A session is handed to one connection at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

class OriginSessions {
 public:
  static constexpr std::size_t kLimit = 10'000, kPerOrigin = 2;
  static constexpr std::int64_t kLifetime = std::int64_t{24} * 3600;  // seconds

  struct Kept {
    SslSessionPtr session;   // nullptr: none
    std::int64_t until = 0;  // seconds since 1970
  };
  Kept take(const std::string& origin, std::int64_t now);
  void keep(const std::string& origin, SslSessionPtr session, std::int64_t until);
  std::size_t size() const;  // sessions

 private:
  struct Origin {
    std::string key;
    std::array<Kept, kPerOrigin> sessions;  // newest first
  };
  using Origins = std::list<Origin>;  // used last first
  void drop(Origins::iterator origin);

  mutable std::mutex mutex_;
  Origins origins_;
  std::unordered_map<std::string_view, Origins::iterator> by_key_;
  std::size_t count_ = 0;
};

}  // namespace bloomwall::proxy
