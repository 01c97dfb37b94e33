// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/self_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/encoding.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/decision/self_pages.h"
#include "proxy/decision/worker_state.h"
#include "proxy/http/escape.h"
#include "proxy/reply/report_form.h"

namespace bloomwall::proxy {
namespace {

using Says = ReportPage::Says;

constexpr HttpError kFormTooLarge{ErrorKind::body_too_large, "the form is larger than one can be"};
constexpr HttpError kFormTooLate{ErrorKind::request_timeout, "the form took too long"};

}  // namespace

bool is_inside_self(const Snapshot& snapshot, const ClientInfo& client) {
  return client.is_intercepted() && client.inside->host == snapshot.settings.self_page.host;
}

bool is_at_origin(const ExchangeContext& context) {
  const ClientInfo& client = context.client.info();
  return (client.inside != nullptr || client.destination != nullptr) && !is_inside_self(*context.snapshot, client);
}

bool takes_reports_of(const ExchangeContext& context) {
  return context.worker.self_service != nullptr && context.snapshot->takes_reports();
}

std::string report_client(const Endpoint& client) {
  const Endpoint plain = client.unmapped();
  if (!plain.is_v6()) return plain.ip();
  return to_hex(std::span<const std::uint8_t>(plain.v6().s6_addr, 8)) + "/64";
}

ReportAddress report_address(const ExchangeContext& context, std::string_view url) {
  const std::string& self = context.snapshot->settings.self_page.host;
  const RequestHead& head = *context.client.head();
  if (is_inside_self(*context.snapshot, context.client.info())) {
    return {.form = fmt::format("https://{}{}", self, kReportPath), .source = "'self'"};
  }
  if (!is_at_origin(context)) {
    const bool is_direct = head.target.form == TargetForm::origin && !(head.host && same_name(head.host->host, self));
    const std::string host = is_direct ? proxy_address(context).url() : "http://" + self;
    return {.form = host + std::string(kReportPath), .source = is_direct ? "'self'" : host};
  }
  std::string origin;
  append_url(origin, url.substr(0, url.find('/', url.find("//") + 2)));
  return {.form = origin + std::string(kReportPathAtOrigin), .source = "'self'"};
}

SelfRequest::SelfRequest(const ExchangeContext& context, std::string_view url, Handler& handler)
    : context_(context),
      handler_(handler),
      address_(report_address(context, url).form),
      deadline_(
          context.worker.io.loop.timers(), [](void* self) { static_cast<SelfRequest*>(self)->on_deadline(); }, this) {}

SelfRequest::~SelfRequest() { cancel(); }

void SelfRequest::begin() {
  const RequestHead& head = *context_.client.head();
  const bool is_elsewhere = is_at_origin(context_);
  const std::string_view path = self_target(head);
  const auto below = report_path(path, is_elsewhere);
  const bool is_read = head.method == Method::get || head.method == Method::head;
  const bool is_page = !is_elsewhere && !below && self_path(path) != SelfPath::unknown;
  if (is_page) return answer({.says = Says::wrong_method});
  if (!below) return answer({.says = Says::no_page});
  if (is_read && below->empty()) return answer({.says = Says::nothing});
  if (!takes_reports_of(context_)) return answer({.says = Says::unknown});
  if (is_read) return ask(SelfQuestion::Kind::look, std::string(*below));
  const bool takes_forms = below->empty();
  if (head.method != Method::post || !takes_forms) {
    return answer({.says = Says::wrong_method, .takes_forms = takes_forms});
  }
  if (!is_form(head.fields)) return answer({.says = Says::other_type});
  if (is_of_script()) return answer({.says = Says::refused});
  if (head.content_length > ReportForm::kMaxBody) return handler_.on_self_failure(kFormTooLarge);
  is_gathering_ = true;
  deadline_.set(std::min(kPatience, context_.snapshot->settings.timeouts.body));
  if (context_.client.request_ended()) on_body_end();
}

bool SelfRequest::is_of_script() const {
  const Field* const mode = find_field(context_.client.head()->fields, "sec-fetch-mode");
  return mode != nullptr && mode->value != "navigate";
}

void SelfRequest::on_body(std::span<const char> piece) {
  if (!is_gathering_) return;
  if (piece.size() > ReportForm::kMaxBody - body_.size()) {
    cancel();
    return handler_.on_self_failure(kFormTooLarge);
  }
  body_.append(piece.data(), piece.size());
}

void SelfRequest::on_body_end() {
  if (std::exchange(is_gathering_, false)) ask(SelfQuestion::Kind::submit, std::move(body_));
}

void SelfRequest::ask(SelfQuestion::Kind kind, std::string text) {
  ticket_ = std::make_shared<Ticket>(Ticket{this});
  deadline_.set(kPatience);
  const bool is_asked = context_.worker.self_service->ask(
      {.kind = kind, .text = std::move(text), .client = report_client(context_.client.info().endpoint)},
      [ticket = ticket_, mailbox = context_.worker.mailbox](const ReportPage& page) {
        mailbox->post([ticket, page] {
          if (ticket->request != nullptr) ticket->request->answer(page);
        });
      });
  if (!is_asked) answer({.says = Says::unavailable});
}

void SelfRequest::answer(ReportPage page) {
  cancel();
  if (page.report != 0) {
    const ReportTickets& tickets = context_.worker.self_service->tickets();
    page.link = fmt::format("{}/{}", address_, tickets.page_of({.report = page.report, .reporter = page.reporter}));
  }
  handler_.on_self_answer(page);
}

void SelfRequest::cancel() {
  if (ticket_ != nullptr) std::exchange(ticket_, nullptr)->request = nullptr;
  is_gathering_ = false;
  deadline_.clear();
}

void SelfRequest::on_deadline() {
  if (!is_gathering_) return answer({.says = Says::unavailable});
  cancel();
  handler_.on_self_failure(kFormTooLate);
}

}  // namespace bloomwall::proxy
