// The line of a tunnel in the access log, written where it ends: as a tunnel, or as an interception.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/access/tls_decision.h"
#include "proxy/auth/user.h"
#include "proxy/decision/request_log.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/http/http_error.h"
#include "proxy/reply/decision_id.h"

namespace bloomwall::proxy {

// What a tunnel is opened with.

// What is remembered of the request that opened it, for the SNI's verdict and for the log line at its end.
struct TunnelStart {
  std::uint64_t judged_by = 0;  // edition of the verdict
  UserPtr user = nullptr;       // nullptr: nobody had to log in
  std::string method, target, host;
  std::string shown;     // of the target, for the log; empty: all of it
  std::string trace_id;  // trace_id_of()
  std::string dialled;   // what safe search dialled; empty: `host`, or the address the client went to
  std::uint16_t port = 0;
  KeptVerdict verdict;
  DecisionId decision_id;
  DecisionId tunnel_id;  // where requests come inside, whose lines name it; else empty
  RequestTimes times;
  std::uint64_t client_received_before = 0, client_sent_before = 0;  // octets of this client's earlier requests
  int status = 200;
  // The client's first octets are looked at, and only then is it known what becomes of the request: its verdict is not
  // counted before.
  bool is_connect = true;
  std::unique_ptr<const TlsQuestion> tls_question = nullptr;  // nullptr: its TLS is not intercepted
  std::optional<TlsDecision> tls_decision = {};               // that was made before it began
  bool is_counted = false;                                    // the verdict is among the counters
  bool leaves_urls = false;                                   // its host is blocked, but for URLs inside
  bool http10 = false;
  bool to_parent = false;
};

class TlsSession;
struct ClientInfo;
struct WorkerState;

// What is known of both sides' TLS when an interception has begun, or failed.
struct TlsEnds {
  std::string_view client_version = {}, origin_version = {};  // "1.2", "1.3"; empty: it did not come to that
  bool client_resumed = false, origin_resumed = false;
  std::uint8_t client_alert = 0, origin_alert = 0;  // fatal, received; 0: none
  std::string_view error = {};                      // why it was not intercepted, or not with the origin; a literal
};

// What a tunnel's beginning does not say of its line.
struct TunnelEnd {
  int status = 200;
  std::string_view sni = {}, why = {};  // `why`: it was cut
  std::string peer = {};
  bool reused = false;
  std::uint64_t bytes_sent = 0, bytes_received = 0;  // to and from the client
  const HttpError* error = nullptr;                  // what the proxy's own rules have against it
  TlsEnds tls = {};
};
void write_tunnel_line(WorkerState& worker, const ClientInfo& client, const TunnelStart& start, const TunnelEnd& end);

// The line of a CONNECT whose TLS is intercepted, from the decision until the client's first request, or its end. Made
// with the octets that were exchanged by then; those inside have lines of their own.
class InterceptionLog {
 public:
  InterceptionLog(WorkerState& worker, const ClientInfo& client, TunnelStart start, TunnelEnd so_far);
  InterceptionLog(const InterceptionLog&) = delete;
  InterceptionLog& operator=(const InterceptionLog&) = delete;

  void note_origin(const TlsSession& tls);  // its handshake is over, whichever way
  // Why the client gets no connection to the origin, or none at all; the first one counts.
  void note_error(std::string_view literal);
  void write(const TlsSession* client);  // once; nullptr: it did not come to TLS with the client
  TunnelStart give_up() {                // instead: it is a tunnel again, and logs itself
    start_.tunnel_id = {};
    return std::move(start_);
  }

 private:
  WorkerState& worker_;
  const ClientInfo& client_;
  TunnelStart start_;
  TunnelEnd end_;
  std::string sni_;
};
using InterceptionLogPtr = std::unique_ptr<InterceptionLog>;

}  // namespace bloomwall::proxy
