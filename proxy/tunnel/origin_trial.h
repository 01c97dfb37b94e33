// One connection to an origin as an intercepted tunnel makes it: the same resolver, rules for destinations, parent
// proxy, TLS settings and verification, with the files that a configuration names. Sends no request.
// For `bloomwall tls try`. Neither filters nor rules for clients and ports are asked; the key of tls_inspection.ca is
// not read.
// Errors of make(): one line each, of the configuration's files. Those of run() are what a client would be told.
// Bounds: timeouts.connect for all up to the tunnel through a parent, then timeouts.tls_handshake.
// Thread: run() has an event loop of its own and blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"
#include "proxy/http/http_error.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/tls/tls_session.h"

namespace bloomwall::proxy {

class OriginTrial {
 public:
  static tl::expected<std::unique_ptr<OriginTrial>, std::vector<std::string>> make(const conf::Config& settings);
  ~OriginTrial();
  OriginTrial(const OriginTrial&) = delete;
  OriginTrial& operator=(const OriginTrial&) = delete;

  // `host`: canonical, with brackets around IPv6. Once. The error: why there is no verified connection.
  std::optional<HttpError> run(std::string_view host, std::uint16_t port);

  // What was found out. nullptr: it did not come to TLS with the origin.
  const TlsSession* tls() const;
  const std::string& peer() const;  // "192.0.2.1:443", the address dialled; empty: none
  bool went_through_parent() const;
  Milliseconds connected_after() const;  // and TLS begins
  Milliseconds ended_after() const;

 private:
  struct Impl;
  explicit OriginTrial(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bloomwall::proxy
