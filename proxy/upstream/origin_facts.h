// What origins have shown that a later decision needs: they ask for client certificates, speak no version of HTTP that
// was offered, or want requests by HTTP/1.1 although they have chosen HTTP/2 (HTTP_1_1_REQUIRED). Kept by (host, port),
// and of versions by those that were offered, since the client chooses these; for kKeep, the oldest forgotten first.
// Cost: a hash look-up. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "proxy/access/tls_decision.h"

namespace bloomwall::proxy {

class OriginFacts {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 10'000;
  static constexpr std::chrono::hours kKeep{1};

  void note_client_certificate(std::string_view host, std::uint16_t port, Clock::time_point now = Clock::now());
  // `alpn`: what was offered.
  void note_no_http(std::string_view host, std::uint16_t port, std::string_view alpn,
                    Clock::time_point now = Clock::now());
  void note_http11(std::string_view host, std::uint16_t port, Clock::time_point now = Clock::now());
  bool wants_http11(std::string_view host, std::uint16_t port, Clock::time_point now = Clock::now()) const;
  // TlsRequest::origin_wants_certificate and, of what it offers, origin_lacks_http.
  void fill(TlsRequest& request, std::string_view host, Clock::time_point now = Clock::now()) const;
  void clear() {
    facts_.clear();
    order_.clear();
  }

 private:
  void note(std::string fact, Clock::time_point now);
  bool is_known(const std::string& fact, Clock::time_point now) const;

  std::unordered_map<std::string, Clock::time_point> facts_;  // "host:port", of versions with what was offered; its end
  std::deque<std::string> order_;                             // in which they were first noted
};

}  // namespace bloomwall::proxy
