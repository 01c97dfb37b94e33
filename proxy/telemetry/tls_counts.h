// What interception counts. Thread: written by the worker's, read by any (Count).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "proxy/access/tls_decision.h"
#include "proxy/access/tls_refusals.h"
#include "proxy/telemetry/count.h"

namespace bloomwall::proxy {

enum class TlsSide : std::uint8_t { client, origin };
const char* to_string(TlsSide side);

// Why a TLS connection that was to be intercepted got neither a certificate nor a tunnel.
enum class InterceptionFailure : std::uint8_t {
  off,          // a reload has switched tls_inspection off meanwhile
  handshakes,   // limits.handshakes
  no_hello,     // of a page: the client's octets were no ClientHello
  bad_host,     // no certificate can hold the host
  client_rate,  // limits.leaves_per_client
  overload,     // too many hosts wait for a slow signer
  mint,         // the authority has expired, or its signer failed
  client_left,
};
const char* to_string(InterceptionFailure reason);

// Handshakes of one side. Times are of those that were done, both peers' included.
struct HandshakeCounts {
  static constexpr std::array<double, 11> kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                  0.1,   0.25,   0.5,   1.0,  2.5};  // seconds
  std::array<Count, 2> done;                                                         // by whether a session was resumed
  Count failed;
  std::array<Count, kBounds.size() + 1> seconds;  // not cumulative
  Count microseconds;

  void count_done(bool resumed, std::chrono::microseconds took);
  void count_failed() { failed.add(); }
};

struct TlsCounts {
  static constexpr std::size_t kActions = static_cast<std::size_t>(TlsAction::refuse) + 1;
  static constexpr std::size_t kReasons = static_cast<std::size_t>(TlsReason::mode) + 1;
  static constexpr std::size_t kSignals = static_cast<std::size_t>(RefusalSignal::silent) + 1;

  static constexpr std::size_t kFailures = static_cast<std::size_t>(InterceptionFailure::client_left) + 1;
  static constexpr std::size_t kCertificateErrors = 13;  // CertificateError, its `none` included

  std::array<std::array<Count, kReasons>, kActions> decisions;  // bloomwall_tls_decisions_total{action,reason}
  std::array<Count, kSignals> refusals;                         // bloomwall_tls_client_refusals_total{signal}

  std::array<HandshakeCounts, 2> handshakes;                 // bloomwall_tls_handshakes_total{side,result,resumed}
  std::array<Count, kFailures> failures;                     // bloomwall_tls_interceptions_failed_total{reason}
  std::array<Count, kCertificateErrors> certificate_errors;  // bloomwall_origin_certificate_errors_total{cause}

  HandshakeCounts& of(TlsSide side) { return handshakes[static_cast<std::size_t>(side)]; }
  void count(InterceptionFailure reason) { failures[static_cast<std::size_t>(reason)].add(); }
  void count_certificate_error(std::size_t cause) { certificate_errors.at(cause).add(); }
  void count(TlsAction action, TlsReason reason) {
    decisions[static_cast<std::size_t>(action)][static_cast<std::size_t>(reason)].add();
  }
  void count(RefusalSignal signal) { refusals[static_cast<std::size_t>(signal)].add(); }
  void add(const TlsCounts& other);
};

}  // namespace bloomwall::proxy
