// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/local_reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/decision/decision.h"
#include "proxy/decision/recent_denials.h"
#include "proxy/decision/self_pages.h"
#include "proxy/decision/self_request.h"
#include "proxy/decision/self_service.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/exchange_log.h"
#include "proxy/http/escape.h"
#include "proxy/reply/authority_page.h"
#include "proxy/reply/replies.h"

namespace bloomwall::proxy {

LocalReply::LocalReply(const ExchangeContext& context, ExchangeLog& log)
    : context_(context), log_(log), answer_(context.worker.gather), close_(!may_keep_client()) {}

// Whether what is left of the request can be read and dropped, so that the next one is found where it begins.
bool LocalReply::may_keep_client() const {
  const ClientStream& client = context_.client;
  const RequestHead* const head = client.head();
  if (head == nullptr || !head->keep_alive || context_.worker.draining) return false;
  const ClientInfo::Inside* const inside = client.info().inside.get();
  if (inside != nullptr && !inside->has_no_origin && !client.has_inner()) return false;
  if (client.request_ended()) return true;
  if (head->expect_continue) return false;  // the client may now send the body, or may not
  return head->framing != BodyFraming::length || client.body_left() <= kDrainBytes;
}

// After a CONNECT that failed clients go on in the tunnel's protocol, or close. Who only asked about one does neither.
bool LocalReply::is_failed_connect() const {
  const RequestHead* const head = context_.client.head();
  return head != nullptr && head->method == Method::connect && context_.client.question() == nullptr;
}

void LocalReply::write_block_reply() {
  const KeptVerdict& verdict = log_.verdict();
  const Snapshot& snapshot = *context_.snapshot;
  status_ = verdict.filter->status == 451 ? 451 : 403;
  close_ = close_ || is_failed_connect();
  const auto& filters = snapshot.settings.filters;
  const auto spec = std::find_if(filters.begin(), filters.end(),
                                 [&](const conf::Filter& f) { return f.name == verdict.filter->name; });
  const std::string ticket = report_ticket();
  const ReportAddress address = ticket.empty() ? ReportAddress{} : report_address(context_, log_.url());
  const bool legal = status_ == 451 && spec != filters.end();
  proxy::write_block_reply(answer_.head(),
                           {.verdict = &verdict,
                            .url = log_.url(),
                            .reported_url = log_.shown_url(),
                            .host = context_.host,
                            .page = &snapshot.settings.block_page,
                            .group = verdict.group,
                            .html = &snapshot.page_of(verdict.group),
                            .legal_link = legal ? std::string_view(spec->legal_link) : std::string_view(),
                            .report = {.action = address.form, .form_action = address.source, .ticket = ticket},
                            .end = log_.block_end()},
                           said());
}

void LocalReply::write_error(const HttpError& error, bool must_close) {
  status_ = context_.parent_refusal ? context_.parent_refusal->status : facts(error.kind).status;
  const bool is_challenge = error.kind == ErrorKind::login_required;  // the client comes again, with credentials
  close_ = close_ || must_close || facts(error.kind).must_close || (is_failed_connect() && !is_challenge);
  proxy::write_error(answer_.head(), error, said());
}

void LocalReply::write(const Decision& decision) {
  switch (decision.act) {
    case Decision::Act::answer_trace:
      return write_trace_reply(answer_.head(), *context_.client.head(), said());
    case Decision::Act::answer_authority:
      return write_authority();
    case Decision::Act::answer_options:
    case Decision::Act::answer_self:
    case Decision::Act::show_self:
    case Decision::Act::wait_for_pages:
    case Decision::Act::refuse:
    case Decision::Act::block:
    case Decision::Act::forward:
    case Decision::Act::tunnel:
      return write_options_reply(answer_.head(), said());
  }
}

void LocalReply::write_authority() {
  const TlsInspection& inspection = *context_.snapshot->inspection;
  const auto resource = authority_resource(context_.client.head()->target.path_and_query);
  if (resource == AuthorityResource::page) {
    write_authority_page(answer_.head(), inspection.page(), said());
  } else {
    write_authority_file(answer_.head(), *resource, inspection.file(*resource), said());
  }
}

void LocalReply::write_pass(int status) {
  status_ = status;
  write_pass_reply(answer_.head(), status, said());
}

void LocalReply::write_self_page() { proxy::write_self_page(answer_.head(), context_, log_.url(), said()); }

void LocalReply::write_report_page(const ReportPage& page) {
  status_ = status_of(page.says);
  proxy::write_report_page(answer_.head(), page, said());
}

// What a script or a frame has asked for shows no form.
bool LocalReply::is_read_by_person() const {
  const RequestHead& head = *context_.client.head();
  const Field* const use = find_field(head.fields, "sec-fetch-dest");
  return head.method != Method::connect && (use == nullptr || use->value == "document");
}

// Empty: nothing can be reported.
std::string LocalReply::report_ticket() {
  if (context_.client.question() != nullptr) return {};  // a form would be sent to the one that asks, or to the origin
  if (!takes_reports_of(context_) || !is_read_by_person()) return {};
  if (choose_media(accept()) != MediaType::html) return {};
  const ClientInfo& client = context_.client.info();
  ReportFacts facts = facts_of({.client = client,
                                .user = context_.user.get(),
                                .verdict = log_.verdict(),
                                .decision_id = log_.decision_id().text(),
                                .url = log_.shown_url(),
                                .host = context_.host});
  return ticket_of(context_.worker, *context_.snapshot, client, std::move(facts));
}

LocalReply::Next LocalReply::send() {
  log_.count_verdict();
  if (context_.client.is_implicit_tunnel()) {
    answer_.clear();
    log_.status = 0;
  } else {
    log_.status = status_;
  }
  context_.client.send(answer_, false);
  if (close_) return Next::close;
  return context_.client.request_ended() ? Next::keep : Next::drain;
}

ReplyContext LocalReply::said() {
  ReplyContext context;
  context.proxy_name = context_.worker.snapshot->settings.headers.via_name;
  context.now = std::chrono::system_clock::now();
  context.close = close_;
  context.decision_id = log_.decision_id().text();
  context.contact = context_.snapshot->settings.block_page.contact;
  context.zone = context_.snapshot->zone;
  context.host = context_.host;
  context.locked_for = context_.locked_for;
  if (context_.parent_refusal) context.parent = &*context_.parent_refusal;
  if (const auto& rules = context_.snapshot->authentication) {
    context.challenge = rules->challenge(context_.client.info().is_secure);
    if (!context_.negotiate_token.empty()) {
      leg_ = fmt::format("Proxy-Authenticate: Negotiate {}\r\n", context_.negotiate_token);
      context.challenge = leg_;
    }
  }
  if (const RequestHead* const head = context_.client.head()) {
    context.method = head->method;
    context.client = head->version;
    context.accept = accept();
    context.accept_language = list_of("accept-language", accept_language_);
    // Whether there is a body depends on how it was asked, and not on the method of what it was asked about.
    if (context_.client.question() != nullptr && head->method == Method::head) context.method = Method::get;
    if (context_.client.asks_by_head()) context.method = Method::head;
  } else if (context_.client.asks_by_head()) {
    context.method = Method::head;
  }
  return context;
}

// Several lines are one list (RFC 9110 section 5.3), which `memory` then holds.
std::string_view LocalReply::list_of(std::string_view name, std::string& memory) {
  const Field* first = nullptr;
  memory.clear();
  for (const Field& field : context_.client.head()->fields) {
    if (!same_name(field.name, name)) continue;
    if (first == nullptr) {
      first = &field;
      continue;
    }
    if (memory.empty()) memory = first->value;
    memory.append(", ").append(field.value);
  }
  if (first == nullptr) return {};
  return memory.empty() ? first->value : std::string_view(memory);
}

}  // namespace bloomwall::proxy
