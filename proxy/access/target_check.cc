// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/target_check.h"

#include <algorithm>
#include <utility>

#include "filter/policy/exact_set.h"
#include "filter/policy/policy.h"
#include "proxy/http/serialise.h"

namespace bloomwall::proxy {
namespace {

// Chains of proxies that share one name exist; a request with the name more often than this is in a loop.
constexpr unsigned kMostOwnVias = 3;

HttpError refused(const filter::CanonicalUrl& url) { return {ErrorKind::bad_target, filter::to_string(url.reason)}; }

// IPv6 addresses that stand without brackets get them.
void append_host(std::string& out, std::string_view host) {
  const bool is_bare = host.find(':') != std::string_view::npos && !host.starts_with('[');
  if (is_bare) out.push_back('[');
  out.append(host);
  if (is_bare) out.push_back(']');
}

// Received-by of "1.1 name (comment)".
std::string_view received_by(std::string_view element) {
  const std::size_t space = element.find(' ');
  if (space == std::string_view::npos) return {};
  element.remove_prefix(space + 1);
  return element.substr(0, element.find(' '));
}

bool is_loop_by_name(const RequestHead& head, std::string_view own_name) {
  if (own_name.empty()) return false;
  unsigned seen = 0;
  for (const Field& field : head.fields) {
    if (field.id != FieldId::via) continue;
    std::string_view list = field.value;
    for (std::string_view element; next_element(list, element);) seen += same_name(received_by(element), own_name);
  }
  return seen > kMostOwnVias;
}

filter::Verdict worst_of(TargetCheck::Addresses addresses, const filter::CanonicalUrl& url, filter::Scope scope,
                         const filter::AskedPolicy& asked) {
  filter::Verdict worst;
  for (const IpAddress& address : addresses) {
    filter::Verdict verdict = asked.policy.judge_address(address, url, scope, asked.asker);
    if (&address == &addresses.front() || verdict.decision > worst.decision) worst = std::move(verdict);
  }
  return worst;
}

HttpError scheme_error(std::string_view asked, Scheme spoken) {
  if (spoken == Scheme::https) return {ErrorKind::not_implemented, "a scheme other than that of the connection"};
  const bool is_for_tunnels = same_name(asked, "https") || same_name(asked, "wss") || same_name(asked, "ws");
  return {ErrorKind::not_implemented, is_for_tunnels ? "https, wss and ws are asked for by CONNECT"
                                                     : "only http is spoken here, and by CONNECT https, wss and ws"};
}

// The opening of a WebSocket, as curl before 8.21 asks a proxy for it: an upgrade of HTTP by another name.
bool is_web_socket(const RequestHead& head) {
  return same_name(head.target.scheme, "ws") && head.wants_upgrade && same_name(head.upgrade, "websocket");
}

Route route_of(const RequestHead& head) {
  if (head.max_forwards != 0U) return Route::forward;
  return head.method == Method::trace ? Route::answer_trace : Route::answer_options;
}

}  // namespace

tl::expected<CheckedTarget, HttpError> TargetCheck::request(const RequestHead& head, const filter::AskedPolicy& asked,
                                                            const AccessRules& access, Waiting waiting) {
  waiting_ = waiting;
  if (is_loop_by_name(head, rules_.via_name)) {
    return tl::unexpected(HttpError{ErrorKind::loop, "Via names this proxy again and again"});
  }
  if (head.target.form == TargetForm::authority) return connect(head, asked, access);
  const bool is_https = rules_.accept_https && same_name(head.target.scheme, name_of(Scheme::https));
  scheme_ = is_https ? Scheme::https : Scheme::http;
  auto judged = head.target.form == TargetForm::absolute ? absolute(head, asked) : origin(head, asked);
  if (!judged || judged->pages_absent || judged->route != Route::forward) return judged;
  if (judged->verdict.decision != filter::Decision::blocked && !access.http_port_allowed(judged->port)) {
    return tl::unexpected(HttpError{ErrorKind::port_denied, "access.deny_ports"});
  }
  return judged;
}

tl::expected<CheckedTarget, HttpError> TargetCheck::absolute(const RequestHead& head,
                                                             const filter::AskedPolicy& asked) {
  const bool is_spoken =
      same_name(head.target.scheme, name_of(scheme_)) || (scheme_ == Scheme::http && is_web_socket(head));
  if (!is_spoken) {
    return tl::unexpected(scheme_error(head.target.scheme, scheme_));
  }
  return judge(head.target.raw, head, asked);
}

// Origin-form: on a forward listener it is meant for a server, which this is not; on a transparent one Host routes it.
tl::expected<CheckedTarget, HttpError> TargetCheck::origin(const RequestHead& head, const filter::AskedPolicy& asked) {
  if (!rules_.accept_origin_form) {
    if (head.target.form == TargetForm::origin) {
      return tl::unexpected(HttpError{ErrorKind::misdirected, "origin-form on a forward listener"});
    }
    CheckedTarget own;  // "OPTIONS *" asks about the proxy itself
    own.route = Route::answer_options;
    return own;
  }
  if (!head.host) return tl::unexpected(HttpError{ErrorKind::misdirected, "no Host to route by"});
  return judge(url_at(head.host->host, head.host->port, head), head, asked);
}

std::string_view TargetCheck::url_at(std::string_view host, std::uint16_t port, const RequestHead& head) {
  append_host(url_.assign(prefix_of(scheme_)), host);
  append_port(url_, port);
  if (!head.target.path_and_query.starts_with('/')) url_.push_back('/');
  return url_.append(head.target.path_and_query);
}

tl::expected<CheckedTarget, HttpError> TargetCheck::inside(const RequestHead& head, const TunnelTarget& tunnel,
                                                           const filter::AskedPolicy& asked, Waiting waiting) {
  waiting_ = waiting;
  scheme_ = tunnel.scheme;
  const std::string_view host = tunnel.host;
  if (is_loop_by_name(head, rules_.via_name)) {
    return tl::unexpected(HttpError{ErrorKind::loop, "Via names this proxy again and again"});
  }
  if (head.target.form == TargetForm::authority) {
    return tl::unexpected(HttpError{ErrorKind::method_not_allowed, "CONNECT inside a tunnel"});
  }
  auto own = judge(url_at(host, port_in_url(scheme_, tunnel.port), head), head, asked);
  const bool absolute_form = head.target.form == TargetForm::absolute;
  const bool names_host = absolute_form || head.host;
  const std::string_view named = absolute_form ? head.target.authority.host : head.host ? head.host->host : host;
  if (own) own->name = tunnel.name;
  if (!own || own->pages_absent || !names_host) return own;
  if (same_name(named, host) && !absolute_form) {
    own->name = NameOf::target;
    own->host_field_port = head.host->port;
    return own;
  }
  filter::Verdict verdict = std::move(own->verdict);
  const bool leaves_tls =
      absolute_form && scheme_ == Scheme::https && same_name(head.target.scheme, name_of(Scheme::http));
  const std::string_view url = absolute_form ? head.target.raw : url_at(named, head.host->port, head);
  auto checked = absolute_form && !leaves_tls ? absolute(head, asked) : judge(url, head, asked);
  if (!checked || checked->pages_absent) return checked;
  verdict.questions += checked->verdict.questions;
  if (verdict.decision > checked->verdict.decision) {
    checked->verdict = std::move(verdict);
    checked->name = tunnel.name;
  }
  // The certificate that was verified, and the one that the client saw, are for the tunnel's host alone, and for https.
  const bool is_blocked = checked->verdict.decision == filter::Decision::blocked;
  if (scheme_ == Scheme::https && (leaves_tls || checked->host != host) && !is_blocked) {
    return tl::unexpected(HttpError{ErrorKind::misdirected, "Host is not the server that TLS was made with"});
  }
  return checked;
}

tl::expected<CheckedTarget, HttpError> TargetCheck::under(const RequestHead& head, const TunnelTarget& other,
                                                          const filter::AskedPolicy& asked, Waiting waiting) {
  waiting_ = waiting;
  scheme_ = other.scheme;
  auto checked = [&]() -> tl::expected<CheckedTarget, HttpError> {
    if (head.target.form != TargetForm::authority) {
      return judge(url_at(other.host, port_in_url(scheme_, other.port), head), head, asked);
    }
    url_.clear();
    append_host(url_, other.host);
    auto judged = host(url_, asked);
    if (!judged) return tl::unexpected(judged.error());
    return CheckedTarget{.verdict = std::move(judged->verdict)};
  }();
  if (checked) checked->name = other.name;
  return checked;
}

// Host and port that are dialled come from the parse that is judged.
tl::expected<CheckedTarget, HttpError> TargetCheck::judge(std::string_view url, const RequestHead& head,
                                                          const filter::AskedPolicy& asked) {
  const filter::CanonicalUrl& canonical = canonicaliser_.url(url);
  if (canonical.action == filter::UrlAction::reject) return tl::unexpected(refused(canonical));
  if (rules_.strict_path && canonical.forms.size() > 1) {
    return tl::unexpected(HttpError{ErrorKind::ambiguous_path, "a path with alternative forms"});
  }
  CheckedTarget checked;
  if (waiting_ == Waiting::blocking || !asked.policy.is_paged()) {
    checked.verdict = asked.policy.judge(canonical, asked.asker);
  } else if (auto verdict = asked.policy.judge_at_once(canonical, absent_, asked.asker)) {
    checked.verdict = *std::move(verdict);
  } else {
    checked.pages_absent = true;
    return checked;
  }
  if (checked.verdict.decision == filter::Decision::rejected) return tl::unexpected(refused(canonical));
  checked.route = route_of(head);
  checked.host = canonical.host;
  checked.port = canonical.port == 0 ? default_port(scheme_) : canonical.port;
  checked.host_field_port = canonical.port;
  return checked;
}

tl::expected<CheckedTarget, HttpError> TargetCheck::connect(const RequestHead& head, const filter::AskedPolicy& asked,
                                                            const AccessRules& access) {
  if (rules_.accept_origin_form) {
    return tl::unexpected(HttpError{ErrorKind::method_not_allowed, "CONNECT on a transparent listener"});
  }
  const filter::CanonicalUrl& canonical = canonicaliser_.host(head.target.authority.host);
  if (canonical.action == filter::UrlAction::reject) return tl::unexpected(refused(canonical));
  CheckedTarget checked;
  checked.verdict = asked.policy.judge_host(canonical, asked.asker);
  if (checked.verdict.decision == filter::Decision::rejected) return tl::unexpected(refused(canonical));
  const bool is_blocked = checked.verdict.decision == filter::Decision::blocked;
  const bool ends_here = is_blocked && checked.verdict.allowed_urls == filter::VerdictReason::unlisted;
  if (!ends_here && !access.port_allowed(head.target.authority.port)) {
    return tl::unexpected(HttpError{ErrorKind::port_denied, "CONNECT to a port outside access.connect_ports"});
  }
  checked.route = Route::tunnel;
  checked.host = canonical.host;
  checked.port = checked.host_field_port = head.target.authority.port;
  return checked;
}

// An IPv6 literal, in a ClientHello against RFC 6066 but sent by some; without brackets it would read as a port.
std::string_view TargetCheck::in_brackets(std::string_view name) {
  if (name.find(':') == std::string_view::npos) return name;
  return url_.assign("[").append(name).append("]");
}

tl::expected<TargetCheck::Sni, HttpError> TargetCheck::sni(std::string_view name, const filter::AskedPolicy& asked) {
  return host(in_brackets(name), asked);
}

tl::expected<TargetCheck::Sni, HttpError> TargetCheck::host(std::string_view name, const filter::AskedPolicy& asked) {
  const filter::CanonicalUrl& canonical = canonicaliser_.host(name);
  if (canonical.action == filter::UrlAction::reject) return tl::unexpected(refused(canonical));
  Sni sni{asked.policy.judge_host(canonical, asked.asker), canonical.host};
  if (sni.verdict.decision == filter::Decision::rejected) return tl::unexpected(refused(canonical));
  return sni;
}

std::optional<filter::Verdict> TargetCheck::url_at_once(std::string_view url, std::string_view host,
                                                        const filter::AskedPolicy& asked) {
  if (!host.empty()) {
    const std::size_t begin = url.find("://") + 3, end = std::min(url.find_first_of("/?", begin), url.size());
    url_.assign(url.substr(0, begin));
    append_host(url_, host);
    url_.append(url.substr(end));
  }
  const filter::CanonicalUrl& canonical = canonicaliser_.url(host.empty() ? url : url_);
  if (!asked.policy.is_paged()) return asked.policy.judge(canonical, asked.asker);
  return asked.policy.judge_at_once(canonical, absent_, asked.asker);
}

filter::Verdict TargetCheck::host_to(Addresses addresses, std::string_view host, const filter::AskedPolicy& asked) {
  return worst_of(addresses, canonicaliser_.host(host), filter::Scope::host, asked);
}

filter::Verdict TargetCheck::url_to(Addresses addresses, std::string_view url, const filter::AskedPolicy& asked) {
  return worst_of(addresses, canonicaliser_.url(url), filter::Scope::url, asked);
}

filter::Verdict TargetCheck::literal_to(Addresses addresses, std::string_view literal,
                                        const filter::AskedPolicy& asked) {
  return host_to(addresses, in_brackets(literal), asked);
}

filter::Verdict TargetCheck::request_to(Addresses addresses, const RequestHead& head,
                                        const filter::AskedPolicy& asked) {
  if (head.target.form == TargetForm::authority) return host_to(addresses, head.target.authority.host, asked);
  scheme_ = Scheme::http;
  return url_to(addresses, named_url(head), asked);
}

std::string_view TargetCheck::named_url(const RequestHead& head) {
  if (head.target.form == TargetForm::absolute || !head.host) return head.target.raw;
  return url_at(head.host->host, head.host->port, head);
}

filter::Verdict TargetCheck::inside_to(Addresses addresses, const RequestHead& head, const TunnelTarget& tunnel,
                                       const filter::AskedPolicy& asked) {
  scheme_ = tunnel.scheme;
  filter::Verdict worse = url_to(addresses, url_at(tunnel.host, port_in_url(scheme_, tunnel.port), head), asked);
  if (head.target.form != TargetForm::absolute && !head.host) return worse;
  filter::Verdict named = url_to(addresses, named_url(head), asked);
  if (named.decision > worse.decision) worse = std::move(named);
  return worse;
}

void append_display_url(std::string& out, const RequestHead& head, Scheme scheme) {
  const Target& target = head.target;
  switch (target.form) {
    case TargetForm::absolute:
      out.append(target.scheme).append("://").append(target.authority.host);
      append_port(out, target.authority.port);
      break;
    case TargetForm::authority:
      out.append(target.raw);
      return;
    case TargetForm::origin:
    case TargetForm::asterisk:
      if (!head.host) break;
      out.append(prefix_of(scheme)).append(head.host->host);
      append_port(out, head.host->port);
      if (target.form == TargetForm::asterisk) return;
      break;
  }
  if (target.path_and_query.empty() || target.path_and_query.front() == '?') out.push_back('/');
  out.append(target.path_and_query);
}

}  // namespace bloomwall::proxy
