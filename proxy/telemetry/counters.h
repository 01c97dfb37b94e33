// Everything the data plane counts, with its help text, in one list (the only macro table of proxy/).
// One Counters per worker, written only by that worker with relaxed atomics, read by the thread that sums them for
// /metrics. A read is not a consistent snapshot: one counter may already be incremented while a related one is not.
// Exported as bloomwall_<name> (proxy/api/metrics.h); names follow Prometheus conventions. Never reset.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "filter/policy/policy.h"
#include "proxy/access/tls_decision.h"
#include "proxy/access/tls_refusals.h"
#include "proxy/http/http_error.h"
#include "proxy/http/request.h"
#include "proxy/telemetry/count.h"
#include "proxy/telemetry/duration_counts.h"
#include "proxy/telemetry/login_counts.h"

namespace bloomwall::proxy {

// How often each filter decided, by its name: bloomwall_filter_matches_total{filter,action}, and without what it let
// pass bloomwall_filter_verdicts_total{filter,action}. The names are those of configured filters, so their number is
// bounded by the configuration; a count outlives reloads. Threads: CountsByName.
class FilterCounts {
 public:
  void count(std::string_view filter, filter::FilterAction action, std::uint64_t times = 1) {
    counts_.count(filter, static_cast<std::size_t>(action), times);
  }
  void add(const FilterCounts& from) { counts_.add(from.counts_); }  // the sum over workers
  std::uint64_t get(std::string_view filter, filter::FilterAction action) const {
    return counts_.get(filter, static_cast<std::size_t>(action));
  }

 private:
  CountsByName<filter::kFilterActions> counts_;
};

// Why tunnels end: bloomwall_tunnels_ended_total{cause}.
enum class TunnelEndCause : std::uint8_t {
  closed,    // by its client or its far end, a reset included
  idle,      // timeouts.tunnel_idle
  lifetime,  // timeouts.tunnel_lifetime
  rules,     // denied by now: a reload, a schedule, a switch, an exception, or the end of its user
  refused,   // for what its client, or its far end, said first
  shutdown,  // the proxy, or the client's connection, was closed
};
inline constexpr std::size_t kTunnelEndCauses = static_cast<std::size_t>(TunnelEndCause::shutdown) + 1;
const char* to_string(TunnelEndCause cause);

// What interception counts. Thread: written by the worker's, read by any (Count).

enum class TlsSide : std::uint8_t { client, origin };
const char* to_string(TlsSide side);

// Why a TLS connection that was to be intercepted got neither a certificate nor a tunnel.
enum class InterceptionFailure : std::uint8_t {
  off,          // a reload has switched tls_inspection off meanwhile
  handshakes,   // limits.handshakes
  no_hello,     // of a page: the client sent no ClientHello, or not in time
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
  static constexpr std::size_t kReasons = static_cast<std::size_t>(TlsReason::self) + 1;
  static constexpr std::size_t kSignals = static_cast<std::size_t>(RefusalSignal::silent) + 1;

  static constexpr std::size_t kFailures = static_cast<std::size_t>(InterceptionFailure::client_left) + 1;
  static constexpr std::size_t kCertificateErrors = 15;  // CertificateError, its `none` included

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

// What other programs ask, by the protocol of the door: bloomwall_answers_total{protocol,answer} and
// bloomwall_answers_connections_active{protocol}. Threads: CountsByName.
class AnswerCounts {
 public:
  static constexpr std::array<std::string_view, 4> kAnswers{"pass", "block", "refuse", "unknown"};  // as Answer::Kind

  void count(std::string_view protocol, std::size_t answer) { counts_.count(protocol, answer); }
  void open(std::string_view protocol) { counts_.count(protocol, kOpen); }
  void close(std::string_view protocol) { counts_.count(protocol, kOpen, std::uint64_t{0} - 1); }
  void add(const AnswerCounts& from) { counts_.add(from.counts_); }  // the sum over workers
  std::uint64_t answered(std::string_view protocol, std::size_t answer) const { return counts_.get(protocol, answer); }
  std::uint64_t connections(std::string_view protocol) const { return counts_.get(protocol, kOpen); }

 private:
  static constexpr std::size_t kOpen = kAnswers.size();
  CountsByName<kAnswers.size() + 1> counts_;
};

#define BLOOMWALL_COUNTERS(X)                                                                             \
  X(client_connections_total, "Client connections accepted")                                              \
  X(client_connections_refused_total, "Client connections closed at once: not allowed or no room")        \
  X(accept_pauses_total, "Times a listener paused because file descriptors or memory had run out")        \
  X(client_idle_timeouts_total, "Client connections closed because nothing was asked for too long")       \
  X(client_connections_shed_total, "Idle client connections closed to make room for new ones")            \
  X(buffer_refusals_total, "Times limits.buffer_memory had nothing left for a connection")                \
  X(proxy_headers_malformed_total, "Connections closed because of a malformed PROXY header")              \
  X(tls_handshake_failures_total, "TLS handshakes with clients that failed or took too long")             \
  X(client_bytes_received_total, "Bytes read from clients")                                               \
  X(client_bytes_sent_total, "Bytes written to clients")                                                  \
  X(upstream_connections_total, "Connections to origins and parents established")                         \
  X(upstream_connect_failures_total, "Connection attempts that failed, each address counted")             \
  X(upstream_reuses_total, "Requests sent on a pooled upstream connection")                               \
  X(upstream_surplus_total, "Upstream connections closed because of octets that answered nothing")        \
  X(upstream_waits_total, "Requests that waited for a place at an origin that takes no more connections") \
  X(upstream_retries_total, "Requests sent again because a pooled connection had died")                   \
  X(upstream_bytes_received_total, "Bytes read from origins and parents")                                 \
  X(upstream_bytes_sent_total, "Bytes written to origins and parents")                                    \
  X(tunnels_total, "CONNECT tunnels and upgrades established")                                            \
  X(tunnel_idle_timeouts_total, "Tunnels closed because nothing passed for too long")                     \
  X(tunnel_lifetime_timeouts_total, "Tunnels closed because they had been open for too long")             \
  X(tunnels_with_requests_total, "Tunnels in which HTTP/1 was found and judged")                          \
  X(tunnels_refused_total, "Tunnels closed because of access.opaque_tunnels, no_sni, sni_mismatch")       \
  X(tunnels_cut_by_reload_total, "Tunnels closed because a reload had blocked or denied them")            \
  X(tunnel_bytes_total, "Bytes relayed through tunnels, both directions")                                 \
  X(host_only_requests_total, "Requests judged by host alone on a host that has URL entries")             \
  X(sni_seen_total, "Tunnels whose ClientHello named a host")                                             \
  X(sni_blocked_total, "Tunnels closed because their ClientHello named a blocked host")                   \
  X(sni_absent_total, "Tunnels whose ClientHello named no host")                                          \
  X(sni_mismatch_total, "Tunnels whose ClientHello named another host than CONNECT")                      \
  X(sni_malformed_total, "Tunnels closed because of a malformed ClientHello")                             \
  X(origin_without_sct_total, "Origins with a certificate of a public root without embedded SCTs")        \
  X(tls_interceptions_undone_total, "Interceptions that became tunnels: only the client can answer")      \
  X(misdirected_inside_total, "Requests inside TLS whose Host named another server")                      \
  X(logins_checked_total, "Requests whose credentials had to be checked")                                 \
  X(logins_remembered_total, "Requests whose credentials were remembered")                                \
  X(logins_refused_total, "Requests whose credentials were wrong")                                        \
  X(http2_streams_total, "Requests of clients that came by HTTP/2")                                       \
  X(http2_streams_refused_total, "HTTP/2 requests refused for want of an origin or of memory")            \
  X(http2_floods_total, "HTTP/2 connections ended because of a flood of frames, resets or fields")        \
  X(http2_errors_total, "HTTP/2 connections ended for a fault of the peer's or for want of memory")       \
  X(dns_queries_total, "Names asked of the resolver")                                                     \
  X(dns_failures_total, "Names that did not resolve")                                                     \
  X(dns_cache_hits_total, "Names answered from memory")                                                   \
  X(filter_lookups_total, "Questions put to filters' bits")                                               \
  X(verdicts_waited_total, "Requests whose verdict waited for pages of a filter from disk")               \
  X(allowlist_hits_total, "Requests that an allow entry let pass")                                        \
  X(log_lines_dropped_total, "Access log lines dropped because the disk was slow")

// Gauges. Each worker changes only its own values; a sum over the workers may miss changes that are made while it is
// read.
#define BLOOMWALL_GAUGES(X)                                                           \
  X(client_connections_active, "Client connections open")                             \
  X(client_connections_idle, "Client connections that wait for their client to ask")  \
  X(upstream_connections_active, "Upstream connections open")                         \
  X(upstream_connections_idle, "Upstream connections in the pool")                    \
  X(tunnels_active, "Tunnels open")                                                   \
  X(tls_handshakes_active, "TLS connections that are being intercepted")              \
  X(auto_pass_entries, "Clients and hosts that tls_inspection.auto_pass lets pass")   \
  X(intercepted_connections_active, "Client connections whose TLS ends at the proxy") \
  X(http2_sessions_active, "Client connections on which HTTP/2 is spoken")

// Bounded classes of methods, so that a client cannot make labels.
enum class MethodClass : std::uint8_t { get, head, post, put, connect, options, other };
inline constexpr std::size_t kMethodClasses = 7;
inline constexpr std::size_t kDecisions = static_cast<std::size_t>(filter::Decision::rejected) + 1;
inline constexpr std::size_t kReasons = static_cast<std::size_t>(filter::VerdictReason::bad_url) + 1;

inline constexpr std::size_t kStatusClasses = 6;  // index status / 100; 0: none

// Duration histogram: upper bounds in seconds, Prometheus style; the last bucket is +Inf.
inline constexpr std::array<double, 14> kDurationBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                        0.1,    0.25,  0.5,    1.0,   2.5,  10.0,  60.0};

struct Counters {
#define BLOOMWALL_DECLARE(name, help) Count name;
  BLOOMWALL_COUNTERS(BLOOMWALL_DECLARE)
  BLOOMWALL_GAUGES(BLOOMWALL_DECLARE)
#undef BLOOMWALL_DECLARE

  // bloomwall_requests_total{method_class,verdict,reason}
  std::array<std::array<std::array<Count, kReasons>, kDecisions>, kMethodClasses> requests;
  std::array<Count, kErrorKinds> errors;        // bloomwall_errors_total{kind}: what the proxy ended itself
  std::array<Count, kStatusClasses> responses;  // bloomwall_responses_total{class}: sent to clients
  std::array<Count, kDurationBounds.size() + 1> request_duration;  // bloomwall_request_duration_seconds, not cumulative
  Count request_duration_microseconds;
  DurationCounts exchanges;  // of requests that are no tunnels; for the history, not for /metrics
  FilterCounts filters;
  CountsByName<kDecisions> groups;      // bloomwall_group_requests_total{group,verdict}; as `filters`
  std::array<Count, 2> exception_hits;  // bloomwall_exception_hits_total{action}: allow, deny
  std::array<Count, kTunnelEndCauses> tunnels_ended;
  LoginCounts logins;
  CountsByName<1> safe_search;  // bloomwall_safe_search_total{engine}: requests that went to the enforcing name
  AnswerCounts answers;
  TlsCounts tls;

  // What was decided on a request or on a ClientHello: requests, the group of its client (empty: there are none), and,
  // where a filter or an exception matched, these.
  void count_verdict(MethodClass method, const filter::Verdict& verdict, std::string_view group = {});
  void count_request(MethodClass method, filter::Decision decision, filter::VerdictReason reason);
  void count_error(ErrorKind kind);
  void count_end(TunnelEndCause cause) { tunnels_ended[static_cast<std::size_t>(cause)].add(); }
  void count_status(int status);  // of a response whose duration says nothing: a tunnel's
  void count_response(int status, std::uint64_t microseconds);
};

struct CounterRow {
  std::string_view name, help;
  Count Counters::* member;
  bool gauge;
};
// The plain rows of both tables, for exporting and summing.
inline constexpr CounterRow kCounterRows[] = {
#define BLOOMWALL_ROW(name, help) {#name, help, &Counters::name, false},
    BLOOMWALL_COUNTERS(BLOOMWALL_ROW)
#undef BLOOMWALL_ROW
#define BLOOMWALL_ROW(name, help) {#name, help, &Counters::name, true},
        BLOOMWALL_GAUGES(BLOOMWALL_ROW)
#undef BLOOMWALL_ROW
};

// Adds every number of `from` to `into`: the sum over workers.
void add_counters(Counters& into, const Counters& from);
std::string_view to_string(MethodClass method);
MethodClass class_of(Method method);

}  // namespace bloomwall::proxy
