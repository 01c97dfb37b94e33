// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/tls_metrics.h"

#include <array>
#include <chrono>
#include <vector>

#include "proxy/tls/certificates.h"

namespace bloomwall::proxy {
namespace {

static_assert(kCertificateErrors.size() + 1 == TlsCounts::kCertificateErrors);

double amount(std::uint64_t value) { return static_cast<double>(value); }

const char* label_of(PublishedAuthority::Role role) {
  return role == PublishedAuthority::Role::in_use ? "in_use" : to_string(role);
}

// The reasons that an action can have (tls_decision.h): their series are there from the start.
bool can_be_why(TlsAction action, TlsReason reason) {
  switch (reason) {
    case TlsReason::mark:
      return action == TlsAction::intercept;
    case TlsReason::all:
      return action == TlsAction::intercept || action == TlsAction::tunnel;
    case TlsReason::blocked:
    case TlsReason::self:
      return action == TlsAction::page || action == TlsAction::refuse;
    case TlsReason::never:
    case TlsReason::no_decrypt:
    case TlsReason::client:
    case TlsReason::port:
    case TlsReason::alpn:
    case TlsReason::opaque:
    case TlsReason::mode:
      return action == TlsAction::tunnel || action == TlsAction::refuse;
    case TlsReason::auto_pass:
    case TlsReason::client_cert:
    case TlsReason::handshake:
      return action == TlsAction::tunnel;
    case TlsReason::ech:
      return action == TlsAction::intercept || action == TlsAction::refuse;
  }
  return false;
}

void add_handshakes(MetricFamilies& out, const TlsCounts& counts) {
  constexpr std::array kSides{TlsSide::client, TlsSide::origin};
  out.counter("tls_handshakes_total", "TLS handshakes of intercepted connections, by side and outcome");
  for (const TlsSide side : kSides) {
    const HandshakeCounts& of_side = counts.handshakes[static_cast<std::size_t>(side)];
    out.row(amount(of_side.done[0].get()), {{"side", to_string(side)}, {"result", "ok"}, {"resumed", "no"}});
    out.row(amount(of_side.done[1].get()), {{"side", to_string(side)}, {"result", "ok"}, {"resumed", "yes"}});
    out.row(amount(of_side.failed.get()), {{"side", to_string(side)}, {"result", "failed"}, {"resumed", "no"}});
  }
  out.histogram("tls_handshake_seconds",
                "How long TLS handshakes took that were completed, round trips included, by the side");
  for (const TlsSide side : kSides) {
    const HandshakeCounts& of_side = counts.handshakes[static_cast<std::size_t>(side)];
    std::vector<std::uint64_t> buckets;
    for (const Count& count : of_side.seconds) buckets.push_back(count.get());
    out.distribution({HandshakeCounts::kBounds.begin(), HandshakeCounts::kBounds.end()}, buckets,
                     amount(of_side.microseconds.get()) / 1e6, {{"side", to_string(side)}});
  }
}

void add_failures(MetricFamilies& out, const TlsCounts& counts) {
  out.counter("tls_interceptions_failed_total", "Connections that were to be intercepted and were closed, by reason");
  for (std::size_t reason = 0; reason < TlsCounts::kFailures; ++reason) {
    out.row(amount(counts.failures[reason].get()), {{"reason", to_string(static_cast<InterceptionFailure>(reason))}});
  }
  out.counter("origin_certificate_errors_total", "Origins whose certificate was refused, by cause");
  for (const CertificateError error : kCertificateErrors) {
    out.row(amount(counts.certificate_errors[static_cast<std::size_t>(error)].get()), {{"cause", to_string(error)}});
  }
}

}  // namespace

void add_tls_metrics(MetricFamilies& out, const TlsCounts& counts) {
  out.counter("tls_decisions_total", "TLS connections of clients, by what was done with them and why");
  for (std::size_t action = 0; action < TlsCounts::kActions; ++action) {
    for (std::size_t reason = 0; reason < TlsCounts::kReasons; ++reason) {
      const std::uint64_t count = counts.decisions[action][reason].get();
      const auto done = static_cast<TlsAction>(action);
      const auto why = static_cast<TlsReason>(reason);
      if (count == 0 && !can_be_why(done, why)) continue;
      out.row(amount(count), {{"action", to_string(done)}, {"reason", to_string(why)}});
    }
  }
  out.counter("tls_client_refusals_total", "Handshakes in which a client refused the proxy's certificate, by its sign");
  for (std::size_t signal = 0; signal < TlsCounts::kSignals; ++signal) {
    out.row(amount(counts.refusals[signal].get()), {{"signal", to_string(static_cast<RefusalSignal>(signal))}});
  }
  add_handshakes(out, counts);
  add_failures(out, counts);
}

void add_inspection_metrics(MetricFamilies& out, const TlsInspection& inspection) {
  const LeafCache::Figures leaves = inspection.leaves()->figures();
  out.counter("leaves_minted_total", "Certificates made for intercepted hosts");
  out.row(amount(leaves.minted));
  out.counter("leaves_refused_total", "Certificates that were not made: host, rate of the client, or the CA");
  out.row(amount(leaves.refused));
  out.gauge("leaf_cache_entries", "Certificates kept");
  out.row(amount(leaves.entries));
  out.counter("leaf_mint_seconds_total", "Time that making certificates for intercepted hosts has taken");
  out.row(std::chrono::duration<double>(leaves.minting).count());
  out.gauge("origin_session_bytes", "Memory of TLS sessions with origins that are kept for abbreviated handshakes");
  out.row(amount(inspection.session_octets()));
  out.gauge("ca_not_after_timestamp_seconds", "When the CAs of TLS inspection expire, by role");
  for (const auto& [role, not_after] : inspection.authority_ends()) {
    out.row(static_cast<double>(not_after), {{"role", label_of(role)}});
  }
}

}  // namespace bloomwall::proxy
