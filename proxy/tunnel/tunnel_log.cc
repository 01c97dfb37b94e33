// SPDX-License-Identifier: Apache-2.0

#include "proxy/tunnel/tunnel_log.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "proxy/decision/client_info.h"
#include "proxy/decision/recent_denials.h"
#include "proxy/decision/worker_state.h"
#include "proxy/telemetry/access_record.h"
#include "proxy/tls/tls_session.h"

namespace bloomwall::proxy {
namespace {

// What was stopped after it had begun is shown as what was stopped at once.
std::string_view shown_target(const TunnelStart& start) {
  if (start.shown.empty()) return start.target;
  if (start.verdict.decision == filter::Decision::allowed) return start.shown;
  return std::string_view(start.target).substr(0, start.target.find('?'));
}

// Where a page was shown inside TLS, its request is the denial.
void note_denied_tunnel(WorkerState& worker, const ClientInfo& client, const TunnelStart& start, const TunnelEnd& end) {
  const bool was_page_shown = start.tls_decision && start.tls_decision->action == TlsAction::page &&
                              end.tls.error.empty() && end.tls.client_alert == 0;
  if (start.verdict.decision != filter::Decision::blocked || was_page_shown) return;
  const std::string_view host = end.sni.empty() ? std::string_view(start.host) : end.sni;
  note_denial(worker,
              {.client = client,
               .user = start.user.get(),
               .verdict = start.verdict,
               .decision_id = start.decision_id.text(),
               .url = start.is_connect ? fmt::format("{}:{}", host, start.port) : std::string(shown_target(start)),
               .host = host,
               .end = worker.decider.block_end(client, start.user.get(), host, start.verdict)},
              start.is_connect);
}

}  // namespace

void write_tunnel_line(WorkerState& worker, const ClientInfo& client, const TunnelStart& start, const TunnelEnd& end) {
  const std::chrono::microseconds lasted = start.times.lasted();
  worker.counters.count_status(end.status);
  note_denied_tunnel(worker, client, start, end);
  AccessRecord record = begin_record(client, start.times, lasted);
  if (start.user != nullptr) record.user = start.user->name;
  record.method = start.method;
  record.url = shown_target(start);
  record.host = start.host;
  record.dialled_as = start.dialled;
  record.sni = end.sni;
  record.http10 = start.http10;
  record.status = end.status;
  record.bytes_sent = end.bytes_sent;
  record.bytes_received = end.bytes_received;
  record.peer = end.peer;
  record.peer_is_parent = start.to_parent;
  record.tunnel = true;
  record.reused = end.reused;
  record.detail = end.why;
  record.trace_id = start.trace_id;
  if (!start.tunnel_id.empty()) record.tunnel_id = start.tunnel_id.text();
  if (start.tls_decision) note_tls(record, *start.tls_decision);
  record.tls_client = end.tls.client_version;
  record.tls_origin = end.tls.origin_version;
  record.tls_client_resumed = end.tls.client_resumed;
  record.tls_origin_resumed = end.tls.origin_resumed;
  record.tls_client_alert = end.tls.client_alert;
  record.tls_origin_alert = end.tls.origin_alert;
  record.tls_error = end.tls.error;
  if (end.error != nullptr) note_refusal(record, *end.error, start.decision_id);
  note_verdict(record, start.verdict, start.decision_id);
  if (!start.shown.empty()) hide_entry(record);
  write_record(worker, record, *worker.snapshot);
}

InterceptionLog::InterceptionLog(WorkerState& worker, const ClientInfo& client, TunnelStart start, TunnelEnd so_far)
    : worker_(worker), client_(client), start_(std::move(start)), end_(std::move(so_far)), sni_(end_.sni) {}

void InterceptionLog::note_origin(const TlsSession& tls) {
  end_.tls.origin_version = tls.version();
  end_.tls.origin_resumed = tls.is_established() && tls.resumed();
  end_.tls.origin_alert = tls.alert_received();
}

void InterceptionLog::note_error(std::string_view literal) {
  if (end_.tls.error.empty()) end_.tls.error = literal;
}

void InterceptionLog::write(const TlsSession* client) {
  if (client != nullptr) {
    end_.tls.client_version = client->version();
    end_.tls.client_resumed = client->is_established() && client->resumed();
    end_.tls.client_alert = client->alert_received();
  }
  end_.sni = sni_;
  write_tunnel_line(worker_, client_, start_, end_);
}

}  // namespace bloomwall::proxy
