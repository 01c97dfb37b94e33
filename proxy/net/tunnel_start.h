// What a tunnel is opened with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "proxy/access/tls_decision.h"
#include "proxy/auth/user.h"
#include "proxy/net/kept_verdict.h"
#include "proxy/net/request_log.h"
#include "proxy/net/tls_inspection.h"
#include "proxy/reply/decision_id.h"

namespace bloomwall::proxy {

// What is remembered of the request that opened it, for the SNI's verdict and for the log line at its end.
struct TunnelStart {
  std::uint64_t judged_by = 0;  // edition of the verdict
  UserPtr user = nullptr;       // nullptr: nobody had to log in
  std::string method, target, host;
  std::string shown;  // of the target, for the log; empty: all of it
  std::uint16_t port = 0;
  KeptVerdict verdict;
  DecisionId decision_id;
  RequestTimes times;
  std::uint64_t client_received_before = 0, client_sent_before = 0;  // octets of this client's earlier requests
  int status = 200;
  // The client's first octets are looked at, and only then is it known what becomes of the request: its verdict is not
  // counted before.
  bool is_connect = true;
  std::unique_ptr<const TlsQuestion> tls_question = nullptr;  // nullptr: its TLS is not intercepted
  std::optional<TlsDecision> tls_decision = {};               // that was made before it began
  bool is_counted = false;                                    // the verdict is among the counters
  bool http10 = false;
  bool to_parent = false;
};

}  // namespace bloomwall::proxy
