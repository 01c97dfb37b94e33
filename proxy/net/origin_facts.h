// What handshakes with origins have shown about them that a later decision needs: they ask for client certificates, or
// speak no HTTP of ours. Kept by (host, port) for kKeep, the oldest forgotten first.
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

  // `reason`: client_cert or alpn; others are not kept.
  void note(std::string_view host, std::uint16_t port, TlsReason reason, Clock::time_point now = Clock::now());
  // TlsRequest::origin_wants_certificate and origin_lacks_http.
  void fill(TlsRequest& request, std::string_view host, Clock::time_point now = Clock::now()) const;
  void clear() {
    facts_.clear();
    order_.clear();
  }

 private:
  struct Fact {
    TlsReason reason;
    Clock::time_point until;
  };
  std::unordered_map<std::string, Fact> facts_;  // by "host:port"
  std::deque<std::string> order_;                // in which they were first noted
};

}  // namespace bloomwall::proxy
