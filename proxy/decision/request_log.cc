// SPDX-License-Identifier: Apache-2.0

#include "proxy/decision/request_log.h"

#include <utility>

#include "filter/policy/policy.h"
#include "proxy/access/tls_decision.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/worker_state.h"
#include "proxy/log/access_log.h"
#include "proxy/log/log_frame.h"
#include "proxy/query_log/request_feed.h"
#include "proxy/telemetry/access_record.h"

namespace bloomwall::proxy {
namespace {

int rank(const filter::Verdict& verdict) {
  if (verdict.decision == filter::Decision::blocked) return 3;
  if (verdict.decision == filter::Decision::monitored) return 2;
  return verdict.reason == filter::VerdictReason::unlisted ? 0 : 1;
}

}  // namespace

KeptVerdict::KeptVerdict() noexcept = default;
KeptVerdict::KeptVerdict(filter::Verdict verdict) : filter::Verdict(std::move(verdict)) {
  if (filter == nullptr) return;
  matched_ = std::make_unique<filter::FilterSpec>();  // its files are left out
  matched_->name = filter->name;
  matched_->action = filter->action;
  matched_->status = filter->status;
  matched_->category = filter->category;
  filter = matched_.get();
}
KeptVerdict::~KeptVerdict() = default;
KeptVerdict::KeptVerdict(KeptVerdict&&) noexcept = default;
KeptVerdict& KeptVerdict::operator=(KeptVerdict&&) noexcept = default;

void KeptVerdict::join(KeptVerdict other) {
  const bool blocks_urls = (is_blocked(*this) && !leaves_urls()) || (is_blocked(other) && !other.leaves_urls());
  const bool is_exempt = no_decrypt && (other.no_decrypt || !other.host_has_marks);
  if (rank(other) > rank(*this)) std::swap(other, *this);
  filter::overtake(other, decision == filter::Decision::blocked);
  if (overtaken.empty()) overtaken = std::move(other.overtaken);
  if (group.empty()) group = std::move(other.group);
  questions += other.questions;
  host_has_marks |= other.host_has_marks;
  host_has_blocking_marks |= other.host_has_blocking_marks;
  no_decrypt = is_exempt;
  if (blocks_urls) allowed_urls = filter::VerdictReason::unlisted;
}

void KeptVerdict::leave_to_urls() {
  filter::leave_to_urls(*this);
  matched_.reset();
}

std::chrono::microseconds RequestTimes::lasted() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started_steady);
}

AccessRecord begin_record(const ClientInfo& client, const RequestTimes& times, std::chrono::microseconds lasted) {
  AccessRecord record;
  record.start = times.started;
  record.duration = lasted;
  record.dns = times.resolving;
  record.connect = times.connecting;
  record.client = client.address;
  record.client_port = client.endpoint.port();
  record.listener = *client.listener;
  record.inside = client.inside != nullptr;
  record.intercepted = client.is_intercepted();
  if (record.inside) record.tunnel_id = client.inside->tunnel_id.text();
  return record;
}

void note_verdict(AccessRecord& record, const KeptVerdict& verdict, const DecisionId& id) {
  record.decision = verdict.decision;
  record.reason = verdict.reason;
  if (verdict.filter != nullptr) record.filter = verdict.filter->name;
  record.expression = verdict.expression;
  record.expression_kind = static_cast<char>(verdict.kind);
  const bool is_of_another_name = verdict.name != NameOf::target && !verdict.expression.empty();
  if (is_of_another_name) record.asked_as = to_string(verdict.name);
  record.exception = verdict.exception;
  record.group = verdict.group;
  record.decision_id = id.text();
}

void hide_entry(AccessRecord& record) {
  record.expression = record.expression.substr(0, record.expression.find('?'));
  const bool has_path = filter::is_path_kind(static_cast<filter::Kind>(record.expression_kind));
  if (has_path && record.decision == filter::Decision::allowed) record.expression = {};
}

void note_refusal(AccessRecord& record, const HttpError& error, const DecisionId& id) {
  record.error = to_string(error.kind);
  record.detail = error.detail;
  record.refused = true;
  record.decision_id = id.text();
}

void note_tls(AccessRecord& record, const TlsDecision& decision) {
  record.tls_action = to_string(decision.action);
  record.tls_reason = to_string(decision.reason);
}

bool needs_record(WorkerState& state, filter::Decision decision, const Snapshot& snapshot) {
  return state.log.enabled() || (state.feed != nullptr && state.feed->wants(decision, snapshot.query_log));
}

void write_record(WorkerState& state, const AccessRecord& record, const Snapshot& snapshot) {
  if (state.feed != nullptr) state.feed->note(record, snapshot.query_log);
  if (!state.log.enabled()) return;
  const conf::AccessLog& settings = snapshot.settings.log.access;
  const LogFrame frame = state.log.frame();
  if (frame != LogFrame::line && !was_stopped(record)) return;
  state.log_line.clear();
  append_line(state.log_line, record,
              {.format = settings.format,
               .strip_query = settings.strip_query,
               .most = frame == LogFrame::syslog ? kMostSyslogLine : 0});
  if (frame == LogFrame::line) return state.log.write(state.log_line);
  std::string framed;
  append_framed(framed, frame, state.log_line,
                {{"EVENT", "request"},
                 {"ID", record.decision_id},
                 {"CLIENT", record.client},
                 {"USER", record.user},
                 {"GROUP", record.group},
                 {"FILTER", record.filter},
                 {"ERROR", record.error}});
  state.log.write(framed);
}

}  // namespace bloomwall::proxy
