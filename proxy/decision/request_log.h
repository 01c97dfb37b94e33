// Turns a finished exchange or tunnel into one line of the access log, and a row of the query log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "filter/policy/verdict.h"
#include "proxy/access/name_of.h"
#include "proxy/http/http_error.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/reply/decision_id.h"

namespace bloomwall::proxy {

// A verdict that may outlive the policy it came from: what is needed of the filter that matched is copied, where one
// did.
class KeptVerdict : public filter::Verdict {
 public:
  KeptVerdict() noexcept;
  KeptVerdict(filter::Verdict verdict);  // NOLINT: they are one and the same
  ~KeptVerdict();
  KeptVerdict(KeptVerdict&&) noexcept;
  KeptVerdict& operator=(KeptVerdict&&) noexcept;

  // Another verdict that the same request needs: the worse of the two counts, and of two that allow it the one that has
  // a reason. Marks of either count. The exemption from decryption is this verdict's, and does not
  // hold where the other one has marks.
  void join(KeptVerdict other);

  // Of a host that is blocked: it may be reached all the same, since URLs on it are allowed (allowed_urls), and each
  // request will be judged.
  void leave_to_urls();
  bool leaves_urls() const { return allowed_urls != filter::VerdictReason::unlisted; }

  NameOf name = NameOf::target;  // of the request's names the one that it is about
  std::string group = {};        // of the client whose verdict it is; empty: there are none

 private:
  std::unique_ptr<filter::FilterSpec> matched_;
};

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
// Of a request whose URL stays its user's: the entry that it has met would tell its query, and one that lets it pass
// its path.
void hide_entry(AccessRecord& record);
// What the proxy's own rules have against it.
void note_refusal(AccessRecord& record, const HttpError& error, const DecisionId& id);
// What was decided on the tunnel's TLS, and why.
void note_tls(AccessRecord& record, const TlsDecision& decision);
// Whether anybody has a use for the record of a request of that verdict.
bool needs_record(WorkerState& state, filter::Decision decision, const Snapshot& snapshot);
// Tells the query log, and writes the line, as the snapshot's settings spell it, unless the access log is off.
void write_record(WorkerState& state, const AccessRecord& record, const Snapshot& snapshot);

}  // namespace bloomwall::proxy
