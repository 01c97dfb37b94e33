// A request for the proxy itself (Decider::is_for_self()) while it is answered: gathers the body of the form, asks the
// SelfService, and waits for what that says.
//   GET  /report/12-TAG     what has become of report 12
//   POST /report            the form of a block page
//   GET  /report            a page that says what this is
// All else is 404, or 405 with another method; pages that a worker answers alone are in self_pages.h. Requests that the
// browser says a script made (Sec-Fetch-Mode) are refused, and forms of another type than is_form().
// Limits: ReportForm::kMaxBody octets (413 beyond); kPatience, or timeouts.body if that is less, for the body, and
// kPatience for the answer (503).
// Lifetime: that of its exchange. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proxy/decision/self_handler.h"
#include "proxy/decision/self_service.h"
#include "proxy/http/http_error.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

class Endpoint;
struct ClientInfo;
struct ExchangeContext;
struct Snapshot;

// Who counts as one client: an IPv4 address, or the /64 of an IPv6 address.
std::string report_client(const Endpoint& client);

// It is inside TLS that the proxy has ended, for the self host itself.
bool is_inside_self(const Snapshot& snapshot, const ClientInfo& client);
// It speaks to an origin, or believes so: on a transparent listener, or through a tunnel.
bool is_at_origin(const ExchangeContext& context);
// Whether somebody keeps reports, and pages have the form for it.
bool takes_reports_of(const ExchangeContext& context);

// Where the form of a block page is sent to: to self_page.host, or to the blocked origin itself (report_form.h). That
// of the home page, asked for at the listener's own address: there.
struct ReportAddress {
  std::string form;    // "http://bloomwall.internal/report"
  std::string source;  // the same as a source of a Content-Security-Policy
};
// `url`: that is asked for, as a person knows it.
ReportAddress report_address(const ExchangeContext& context, std::string_view url);

class SelfRequest {
 public:
  static constexpr Milliseconds kPatience{10'000};
  using Handler = SelfHandler;
  // `url`: as of report_address().
  SelfRequest(const ExchangeContext& context, std::string_view url, Handler& handler);
  ~SelfRequest();
  SelfRequest(const SelfRequest&) = delete;
  SelfRequest& operator=(const SelfRequest&) = delete;

  // Each may call the handler, which ends it.
  void begin();
  void on_body(std::span<const char> piece);
  void on_body_end();
  void cancel();  // the handler is no longer called

 private:
  struct Ticket {
    SelfRequest* request = nullptr;  // used on the loop only; null: cancelled
  };
  void ask(SelfQuestion::Kind kind, std::string text);
  void answer(ReportPage page);
  void on_deadline();
  bool is_of_script() const;

  const ExchangeContext& context_;
  Handler& handler_;
  const std::string address_;  // ReportAddress::form
  std::string body_;
  bool is_gathering_ = false;
  std::shared_ptr<Ticket> ticket_;  // while it waits for an answer
  Timer deadline_;
};

}  // namespace bloomwall::proxy
