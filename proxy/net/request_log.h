// Turns a finished exchange or tunnel into one line of the access log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "proxy/http/http_error.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/net/kept_verdict.h"
#include "proxy/reply/decision_id.h"

namespace bloomwall::proxy {

struct AccessRecord;
struct ClientInfo;
struct Snapshot;
struct TlsDecision;
struct WorkerState;

struct RequestTimes {
  static RequestTimes from_now() { return {std::chrono::system_clock::now(), std::chrono::steady_clock::now()}; }
  std::chrono::microseconds lasted() const;  // until now

  std::chrono::system_clock::time_point started;
  std::chrono::steady_clock::time_point started_steady;  // the same moment on the monotonic clock
  Milliseconds resolving{0}, connecting{0};
};

// The client, the start and the duration of a request.
AccessRecord begin_record(const ClientInfo& client, const RequestTimes& times, std::chrono::microseconds lasted);

// Verdict, filter name, expression and decision id.
void note_verdict(AccessRecord& record, const KeptVerdict& verdict, const DecisionId& id);
// What the proxy's own rules have against it.
void note_refusal(AccessRecord& record, const HttpError& error, const DecisionId& id);
// What was decided on the tunnel's TLS, and why.
void note_tls(AccessRecord& record, const TlsDecision& decision);
// Writes the line, as the snapshot's settings spell it, unless the log is off.
void write_record(WorkerState& state, const AccessRecord& record, const Snapshot& snapshot);

}  // namespace bloomwall::proxy
