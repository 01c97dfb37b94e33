// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/self_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/text.h"
#include "conf/forms.h"
#include "proxy/auth/user.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/decision/recent_denials.h"
#include "proxy/decision/self_request.h"
#include "proxy/decision/self_service.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/decision/user_check.h"
#include "proxy/decision/worker_state.h"
#include "proxy/reply/authority_page.h"
#include "proxy/reply/home_page.h"
#include "proxy/reply/pac_file.h"
#include "proxy/reply/reply_message.h"
#include "proxy/reply/setup_page.h"

namespace bloomwall::proxy {
namespace {

bool is_host_in_url(std::string_view host) {
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return is_bracketed ? conf::is_ip(host.substr(1, host.size() - 2)) : conf::is_host_name(host);
}

const Authority* asked_authority(const RequestHead& head) {
  if (head.target.form == TargetForm::absolute) return &head.target.authority;
  return head.host ? &*head.host : nullptr;
}

// The first listener with TLS under the same address whose certificate is for that.
std::string secure_proxy(const ExchangeContext& context, const ProxyAddress& own) {
  const Snapshot& snapshot = *context.snapshot;
  const Endpoint reached = reached_endpoint(context.client.info());
  for (const ListenerRules& listener : snapshot.listeners) {
    const auto address = Endpoint::parse(listener.address);
    const bool is_for_clients = listener.tls != nullptr && listener.mode == conf::Listener::Mode::forward &&
                                listener.balancers.empty() && address && address->port() != 0;
    if (!is_for_clients || !(address->is_wildcard() || address->unmapped().same_ip(reached))) continue;
    if (!listener.tls->is_for(own.host)) continue;
    return fmt::format("HTTPS {}:{}", own.host, address->port());
  }
  return {};
}

std::string pac_of(const ExchangeContext& context) {
  const Snapshot& snapshot = *context.snapshot;
  const conf::Pac& settings = snapshot.settings.pac;
  if (!settings.file.empty()) return snapshot.pac_file;
  PacFile file{.proxies = {}, .direct = settings.direct, .self_host = snapshot.settings.self_page.host};
  for (const std::string& proxy : settings.proxies) file.proxies.push_back(pac_proxy(proxy));
  if (file.proxies.empty()) {
    const ProxyAddress own = proxy_address(context);
    std::string secure = own.is_secure ? std::string() : secure_proxy(context, own);
    if (!secure.empty()) file.proxies.push_back(std::move(secure));
    file.proxies.push_back((own.is_secure ? "HTTPS " : "PROXY ") + own.authority());
  }
  return pac_text(file);
}

void write_pac(std::string& out, const ExchangeContext& context, const ReplyContext& reply) {
  const std::string body = pac_of(context);
  write_reply_message(out, {.status = 200, .content_type = kPacType, .body = body}, reply);
}

void write_home(std::string& out, const ExchangeContext& context, std::string_view url, const ReplyContext& reply) {
  const WorkerState& worker = context.worker;
  const ClientInfo& client = context.client.info();
  const User* const user = context.user.get();
  const ReportAddress address = takes_reports_of(context) ? report_address(context, url) : ReportAddress{};
  HomePage page{.is_shown = context.snapshot->settings.self_page.recent && worker.recent_denials != nullptr,
                .user = user == nullptr ? std::string_view() : std::string_view(user->name),
                .client = client.address,
                .may_log_in = user == nullptr && must_log_in(*context.snapshot, client),
                .report = {.action = address.form, .form_action = address.source},
                .has_authority = context.snapshot->inspection != nullptr};
  if (page.is_shown) page.recent = worker.recent_denials->of(whose_denials(client, user));
  if (takes_reports_of(context)) {
    for (const RecentDenial& denial : page.recent) {
      page.tickets.push_back(ticket_of(worker, *context.snapshot, client, denial.facts));
    }
  }
  write_home_page(out, page, reply);
}

}  // namespace

Endpoint reached_endpoint(const ClientInfo& client) {
  if (client.reached.port() != 0 || client.listener == nullptr) return client.reached.unmapped();
  return Endpoint::parse(*client.listener).value_or(Endpoint()).unmapped();
}

std::string host_in_url(const Endpoint& endpoint) {
  return endpoint.is_v6() ? fmt::format("[{}]", endpoint.ip()) : endpoint.ip();
}

std::string_view self_target(const RequestHead& head) {
  return head.target.form == TargetForm::absolute ? head.target.path_and_query : head.target.raw;
}

// Under a name of its own a web page of anybody could ask for what was blocked here: addresses have no owner.
bool is_for_listener(const RequestHead& head) {
  switch (self_path(head.target.raw)) {
    case SelfPath::setup:
    case SelfPath::pac:
    case SelfPath::report:
      return true;
    case SelfPath::home:
      break;
    case SelfPath::unknown:
      return false;
  }
  const std::string_view host = head.host ? head.host->host : std::string_view();
  return host.empty() || host.front() == '[' || conf::is_ip(host);
}

// A browser that is set to use the proxy asks it for the proxy's own address, too. Names are left to the resolver: an
// own address that one leads to is a loop.
bool asks_listener_by_itself(const RequestHead& head, const ClientInfo& client, const Snapshot& snapshot) {
  const std::string_view host = head.target.authority.host;
  const bool is_literal = !host.empty() && (host.front() == '[' || is_digit(host.back()));
  if (head.target.form != TargetForm::absolute || !is_literal) return false;
  const std::string_view target = self_target(head);
  if (self_path(target) == SelfPath::unknown && !authority_resource(target)) return false;
  const Endpoint reached = reached_endpoint(client);
  const std::uint16_t port = head.target.authority.port == 0 ? kHttpPort : head.target.authority.port;
  const bool is_reached = host == host_in_url(reached);
  if (is_reached && port == reached.port()) return true;
  return std::ranges::any_of(snapshot.listeners, [&](const ListenerRules& listener) {
    const auto own = Endpoint::parse(listener.address);
    if (!own || own->port() != port) return false;
    return own->is_wildcard() ? is_reached : host == host_in_url(own->unmapped());
  });
}

ProxyAddress proxy_address(const ExchangeContext& context) {
  const ClientInfo& client = context.client.info();
  const Endpoint reached = reached_endpoint(client);
  ProxyAddress address{.host = host_in_url(reached), .port = reached.port(), .is_secure = client.is_secure};
  const Authority* const asked = asked_authority(*context.client.head());
  const bool is_usable = asked != nullptr && client.inside == nullptr && is_host_in_url(asked->host) &&
                         !equals_ignoring_case(asked->host, context.snapshot->settings.self_page.host);
  if (!is_usable) return address;
  address.host = asked->host;
  make_lower(address.host);
  if (asked->port != 0) address.port = asked->port;
  return address;
}

bool is_self_page(const ExchangeContext& context) {
  const RequestHead& head = *context.client.head();
  if (head.method != Method::get && head.method != Method::head) return false;
  switch (self_path(self_target(head))) {
    case SelfPath::home:
    case SelfPath::setup:
    case SelfPath::pac:
      return !is_at_origin(context);
    case SelfPath::report:
    case SelfPath::unknown:
      break;
  }
  return false;
}

void write_self_page(std::string& out, const ExchangeContext& context, std::string_view url,
                     const ReplyContext& reply) {
  const Snapshot& snapshot = *context.snapshot;
  switch (self_path(self_target(*context.client.head()))) {
    case SelfPath::pac:
      return write_pac(out, context, reply);
    case SelfPath::setup: {
      const std::string first = snapshot.settings.pac.proxies.empty() ? "" : snapshot.settings.pac.proxies.front();
      const SetupPage page{.proxy = configured_proxy(first).value_or(proxy_address(context)),
                           .direct = snapshot.settings.pac.direct,
                           .asks_login = must_log_in(snapshot, context.client.info()),
                           .has_authority = snapshot.inspection != nullptr};
      return write_setup_page(out, page, reply);
    }
    case SelfPath::home:
    case SelfPath::report:
    case SelfPath::unknown:
      break;
  }
  write_home(out, context, url, reply);
}

}  // namespace bloomwall::proxy
