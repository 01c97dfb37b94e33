// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/exchange_log.h"

#include <utility>

#include "proxy/access/tls_decision.h"
#include "proxy/decision/asked_question.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/decision/recent_denials.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/decision/worker_state.h"
#include "proxy/http/serialise.h"
#include "proxy/http/trace_context.h"
#include "proxy/log/access_log.h"
#include "proxy/query_log/request_feed.h"
#include "proxy/telemetry/access_record.h"
#include "proxy/tunnel/interception.h"
#include "proxy/tunnel/tunnel.h"

namespace bloomwall::proxy {
namespace {

std::string_view trace_id_of_request(const RequestHead& head) {
  const Field* const field = find_field(head.fields, "traceparent");
  return field == nullptr ? std::string_view() : trace_id_of(field->value);
}

}  // namespace

ExchangeLog::ExchangeLog(const ExchangeContext& context) : context_(context) {}

ExchangeLog::~ExchangeLog() = default;

void ExchangeLog::note_verdict(KeptVerdict verdict, bool counts) {
  verdict_ = std::move(verdict);
  is_uncounted_ = counts;
  if (counts && verdict_.decision != filter::Decision::allowed) decision_id_ = context_.worker.ids.next();
}

// What a name leads to is known only after the request was decided. The first address that is blocked stands for all of
// them; one that is monitored counts as soon as it is dialled.
bool ExchangeLog::note_address(KeptVerdict verdict) {
  if (verdict.decision >= filter::Decision::blocked) {
    if (blocked_address_.filter == nullptr) blocked_address_ = std::move(verdict);
    return false;
  }
  if (verdict.decision == filter::Decision::monitored && decision_id_.empty())
    decision_id_ = context_.worker.ids.next();
  verdict_.join(std::move(verdict));
  return true;
}

// A request that was counted when it was sent the first time is not counted as one again.
bool ExchangeLog::deny_by_address() {
  if (blocked_address_.filter == nullptr) return false;
  verdict_.join(std::exchange(blocked_address_, {}));
  if (!is_uncounted_) context_.worker.counters.filters.count(verdict_.filter->name, verdict_.filter->action);
  forget_peer();
  if (decision_id_.empty()) decision_id_ = context_.worker.ids.next();
  return true;
}

void ExchangeLog::note_error(const HttpError& error) {
  error_ = error;
  context_.worker.counters.count_error(error.kind);
  if (error.kind == ErrorKind::misdirected && context_.client.info().is_intercepted()) {
    context_.worker.counters.misdirected_inside_total.add();
  }
  if (decision_id_.empty()) decision_id_ = context_.worker.ids.next();
}

// What the rules refuse is counted among the errors alone, whatever the filters said of it; but a URL that cannot be
// judged has a verdict of its own.
void ExchangeLog::note_answered_error(const HttpError& error) {
  note_error(error);
  if (error.kind == ErrorKind::bad_target || error.kind == ErrorKind::ambiguous_path) {
    verdict_.decision = filter::Decision::rejected;
    verdict_.reason = filter::VerdictReason::bad_url;
    const RequestHead* const head = context_.client.head();
    const MethodClass method = head != nullptr ? class_of(head->method) : MethodClass::other;
    context_.worker.counters.count_request(method, verdict_.decision, verdict_.reason);
  }
  if (is_refusal(error.kind) && std::exchange(is_uncounted_, false)) count_questions();
}

void ExchangeLog::count_verdict() {
  if (!std::exchange(is_uncounted_, false)) return;
  count_questions();
  context_.worker.counters.count_verdict(class_of(context_.client.head()->method), verdict_, verdict_.group);
}

void ExchangeLog::leave_verdict_to_tunnel() {
  if (std::exchange(is_uncounted_, false)) count_questions();
}

void ExchangeLog::count_questions() {
  Counters& counters = context_.worker.counters;
  counters.filter_lookups_total.add(verdict_.questions);
  if (verdict_.reason == filter::VerdictReason::allow_list) counters.allowlist_hits_total.add();
  if (verdict_.host_has_marks) counters.host_only_requests_total.add();
}

void ExchangeLog::note_peer(const UpstreamConnection& upstream) {
  if (context_.worker.log.enabled()) peer_ = upstream.peer.text();
  peer_was_reused_ = upstream.reused;
}

void ExchangeLog::note_response(const ResponseHead& head) {
  status = head.status;
  if (!context_.worker.log.enabled()) return;
  if (const Field* type = find_field(head.fields, "content-type")) content_type_ = type->value;
}

void ExchangeLog::forget_peer() {
  peer_.clear();
  peer_was_reused_ = false;
}

// Inside a tunnel a request that names no host is for the tunnel's.
const std::string& ExchangeLog::url() {
  if (!url_.empty() || context_.client.head() == nullptr) return url_;
  const RequestHead& head = *context_.client.head();
  const ClientInfo::Inside* const inside = context_.client.info().inside.get();
  const Scheme scheme = inside == nullptr ? Scheme::http : inside->scheme;
  const bool is_bare = head.target.form == TargetForm::origin && !head.host;
  if (inside != nullptr && is_bare) {
    url_.append(prefix_of(scheme)).append(inside->host);
    append_port(url_, port_in_url(scheme, inside->port));
  }
  append_display_url(url_, head, scheme);
  return url_;
}

// What users do inside TLS stays theirs, unless it is stopped or reported, or log_urls says otherwise.
bool ExchangeLog::hides_url() const {
  using LogUrls = conf::TlsInspection::LogUrls;
  return context_.client.info().is_intercepted() && context_.snapshot->settings.tls_inspection.log_urls != LogUrls::all;
}

std::string_view ExchangeLog::shown_url() {
  std::string_view shown = url();
  if (!hides_url()) return shown;
  shown = shown.substr(0, shown.find('?'));
  if (verdict_.decision != filter::Decision::allowed) return shown;
  return shown.substr(0, shown.find('/', shown.find("//") + 2));
}

void ExchangeLog::see_client(bool is_refused) const {
  if (context_.worker.feed == nullptr) return;
  AccessRecord record;
  record.start = times.started;
  record.client = context_.client.info().address;
  if (context_.user != nullptr) record.user = context_.user->name;
  record.host = context_.host;
  record.group = verdict_.group;
  record.decision = verdict_.decision;
  record.refused = is_refused;
  context_.worker.feed->see(record, context_.snapshot->query_log);
}

void ExchangeLog::write(std::uint64_t body_octets, bool is_local_reply) {
  if (AskedQuestion* const question = context_.client.question()) {
    question->note_outcome({status, verdict_, error_ ? &*error_ : nullptr, decision_id_.text()});
  }
  see_client(is_local_reply && error_ && is_refusal(error_->kind));
  const std::chrono::microseconds lasted = times.lasted();
  context_.worker.counters.count_response(status, static_cast<std::uint64_t>(lasted.count()));
  context_.worker.counters.exchanges.count(lasted);
  if (!needs_record(context_.worker, verdict_.decision, *context_.snapshot)) return;
  AccessRecord record = begin_record(context_.client.info(), times, lasted);
  if (context_.user != nullptr) record.user = context_.user->name;
  record.status = status;
  record.bytes_sent = context_.client.octets_sent();
  record.bytes_received = body_octets;
  record.host = context_.host;
  record.dialled_as = context_.dialled;
  record.content_type = content_type_;
  record.peer = peer_;
  record.peer_is_parent = is_for_parent;
  record.reused = peer_was_reused_;
  record.http2 = context_.client.is_http2();
  if (error_) {
    record.error = to_string(error_->kind);
    record.detail = error_->detail;
    record.refused = is_local_reply && is_refusal(error_->kind);
  }
  if (const RequestHead* const head = context_.client.head()) {
    record.method = head->method_name;
    record.url = shown_url();
    record.http10 = head->version == Version::http10;
    record.bytes_received += head->bytes;
    if (context_.client.is_named_by_hello()) record.sni = head->target.authority.host;
    const Field* const referer = find_field(head->fields, FieldId::referer);
    if (referer != nullptr && !hides_url()) record.referer = referer->value;
    if (const Field* field = find_field(head->fields, FieldId::user_agent)) record.user_agent = field->value;
    record.trace_id = trace_id_of_request(*head);
  }
  if (tls_decision_) note_tls(record, *tls_decision_);
  proxy::note_verdict(record, verdict_, decision_id_);
  if (hides_url()) hide_entry(record);
  write_record(context_.worker, record, *context_.snapshot);
}

void ExchangeLog::note_own_denial(BlockEnd end) {
  block_end_ = std::move(end);
  note_denial(context_.worker,
              {.client = context_.client.info(),
               .user = context_.user.get(),
               .verdict = verdict_,
               .decision_id = decision_id_.text(),
               .url = shown_url(),
               .host = context_.host,
               .end = block_end_},
              context_.client.head()->method == Method::connect);
}

TunnelStart ExchangeLog::make_tunnel_start() {
  see_client(false);
  const RequestHead& head = *context_.client.head();
  TunnelStart start;
  start.judged_by = context_.judged_by;
  start.user = context_.user;
  start.method = head.method_name;
  start.target = url();
  if (hides_url()) start.shown = shown_url();
  start.host = context_.host;
  start.dialled = context_.dialled;
  start.port = context_.port;
  start.is_connect = head.method == Method::connect;
  start.http10 = head.version == Version::http10;
  start.verdict = std::move(verdict_);
  start.decision_id = decision_id_;
  start.times = times;
  start.status = status;
  if (context_.worker.log.enabled()) start.trace_id = trace_id_of_request(head);
  start.to_parent = is_for_parent;
  start.leaves_urls = leaves_urls_;
  if (start.is_connect && context_.snapshot->inspection != nullptr) {
    start.tls_question = std::make_unique<const TlsQuestion>(make_tls_question());
  }
  return start;
}

TlsQuestion ExchangeLog::make_tls_question() const {
  const ClientInfo& client = context_.client.info();
  TlsQuestion question;
  question.host = context_.host;
  question.port = context_.port;
  question.is_transparent = client.destination != nullptr;
  if (question.is_transparent) question.destination = client.destination->address;
  const Field* const agent = find_field(context_.client.head()->fields, FieldId::user_agent);
  if (agent != nullptr) question.user_agent = agent->value;
  return question;
}

// What is to be decrypted is decided once more, and counted, with the ClientHello.
TlsAction ExchangeLog::decide_tls() {
  const auto& inspection = context_.snapshot->inspection;
  if (inspection == nullptr) return TlsAction::refuse;
  const TlsQuestion question = make_tls_question();
  const TlsDecision decision =
      inspection->rules().decide(question.request(context_.client.info(), context_.user.get(), context_.worker));
  if (decision.action == TlsAction::intercept) return decision.action;
  tls_decision_ = std::make_unique<const TlsDecision>(decision);
  context_.worker.counters.tls.count(decision.action, decision.reason);
  return decision.action;
}

void ExchangeLog::leave_verdict_to_urls() {
  verdict_.leave_to_urls();
  decision_id_ = {};
  leaves_urls_ = true;
}

InterceptionStart ExchangeLog::make_page_start(std::uint64_t body_octets) {
  InterceptionStart start;
  start.inside.host = context_.host;
  start.inside.port = context_.port;
  start.inside.judged_by = context_.judged_by;
  start.inside.scheme = Scheme::https;
  start.inside.has_no_origin = true;
  const RequestHead& head = *context_.client.head();
  TunnelEnd so_far{
      .status = status, .bytes_sent = context_.client.octets_sent(), .bytes_received = head.bytes + body_octets};
  if (context_.client.is_named_by_hello()) so_far.sni = head.target.authority.host;
  TunnelStart line = make_tunnel_start();
  line.tls_decision = *tls_decision_;
  line.tunnel_id = line.decision_id.empty() ? context_.worker.ids.next() : line.decision_id;
  start.inside.tunnel_id = line.tunnel_id;
  start.log =
      std::make_unique<InterceptionLog>(context_.worker, context_.client.info(), std::move(line), std::move(so_far));
  start.inside.user = context_.user;
  return start;
}

}  // namespace bloomwall::proxy
