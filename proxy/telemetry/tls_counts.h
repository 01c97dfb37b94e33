// What interception counts. Thread: written by the worker's, read by any (Count).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "proxy/access/tls_decision.h"
#include "proxy/access/tls_refusals.h"
#include "proxy/telemetry/count.h"

namespace bloomwall::proxy {

struct TlsCounts {
  static constexpr std::size_t kActions = static_cast<std::size_t>(TlsAction::refuse) + 1;
  static constexpr std::size_t kReasons = static_cast<std::size_t>(TlsReason::mode) + 1;
  static constexpr std::size_t kSignals = static_cast<std::size_t>(RefusalSignal::silent) + 1;

  std::array<std::array<Count, kReasons>, kActions> decisions;  // bloomwall_tls_decisions_total{action,reason}
  std::array<Count, kSignals> refusals;                         // bloomwall_tls_client_refusals_total{signal}

  void count(TlsAction action, TlsReason reason) {
    decisions[static_cast<std::size_t>(action)][static_cast<std::size_t>(reason)].add();
  }
  void count(RefusalSignal signal) { refusals[static_cast<std::size_t>(signal)].add(); }
  void add(const TlsCounts& other);
};

}  // namespace bloomwall::proxy
