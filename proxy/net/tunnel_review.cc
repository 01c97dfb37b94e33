// What a reload makes of an open tunnel: it is judged again, by the filters and by the access rules of now.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "proxy/http/serialise.h"
#include "proxy/net/addresses.h"
#include "proxy/net/tunnel.h"

namespace bloomwall::proxy {

// A microsecond each.
void Tunnel::review() {
  cancel_page_wait();
  const char* const why = blocked_by_now();
  if (why != nullptr) {
    state_.counters.tunnels_cut_by_reload_total.add();
    cut_status_ = 403;
    return cut(why);
  }
  if (const auto error = refused_by_now()) {
    state_.counters.tunnels_cut_by_reload_total.add();
    return refuse(*error);
  }
  if (gate_ == nullptr || gate_->held().empty()) on_timer();  // the new time-outs may be shorter
}

// nullptr: nothing speaks against it.
const char* Tunnel::blocked_by_now() {
  const ClientInfo& client = owner_->client_info();
  const auto is_blocked_host = [&](std::string_view host) {
    auto judged = state_.judge.host(host, *state_.policy);
    return judged && is_blocked_by_now(std::move(judged->verdict));
  };
  if (is_blocked_host(start_.host)) return "a reload has blocked the host";
  if (client.inside != nullptr && is_blocked_host(client.inside->host)) return "a reload has blocked the tunnel's host";
  if (!sni_.empty() && is_blocked_host(sni_)) return "a reload has blocked the server name";
  if (client.destination != nullptr) {
    auto judged = state_.judge.sni(client.destination->address, *state_.policy);
    if (judged && is_blocked_by_now(std::move(judged->verdict))) return "a reload has blocked the address";
  }
  if (is_peer_blocked_by_now()) return "a reload has blocked the address";
  return start_.is_connect ? nullptr : blocked_url_by_now();
}

// Where that takes pages from the disk, the review is done again once they have come.
const char* Tunnel::blocked_url_by_now() {
  const bool is_inside = owner_->client_info().inside != nullptr;
  for (const std::string& url : {start_.target, is_inside ? url_under_tunnels_host() : std::string()}) {
    if (url.empty()) continue;
    auto judged = state_.judge.url_at_once(url, *state_.policy);
    if (!judged) {
      page_wait_ = state_.pages.read(state_.policy, state_.judge.absent_pages(), *this);
      return nullptr;
    }
    if (is_blocked_by_now(*std::move(judged))) return "a reload has blocked the URL";
  }
  return nullptr;
}

// Inside another tunnel that one's host needs its own pass with each URL, whatever Host says.
std::string Tunnel::url_under_tunnels_host() const {
  const ClientInfo::Inside& inside = *owner_->client_info().inside;
  std::string url = "http://" + inside.host;
  append_port(url, port_in_http_url(inside.port));
  const std::size_t path = start_.target.find('/', start_.target.find("//") + 2);
  return path == std::string::npos ? url : url.append(start_.target, path);
}

void Tunnel::on_pages_read() {
  page_wait_ = nullptr;
  review();
}

// The address of the far end, by the networks in filters. Inside another tunnel that one's host needs its own pass.
bool Tunnel::is_peer_blocked_by_now() {
  const filter::Policy& policy = *state_.policy;
  const ClientInfo::Inside* const inside = owner_->client_info().inside.get();
  const bool to_parent = start_.to_parent || (inside != nullptr && inside->to_parent);
  if (to_parent || !policy.has_networks()) return false;
  const NetworkQuestion question(upstream_->peer, state_.snapshot->access);
  const auto& meant = owner_->client_info().destination;
  if (meant != nullptr && is_blocked_by_now(state_.judge.literal_to(question.addresses(), meant->address, policy))) {
    return true;
  }
  if (start_.is_connect) return is_blocked_by_now(state_.judge.host_to(question.addresses(), start_.host, policy));
  if (inside != nullptr && is_blocked_by_now(state_.judge.host_to(question.addresses(), inside->host, policy))) {
    return true;
  }
  return is_blocked_by_now(state_.judge.url_to(question.addresses(), start_.target, policy));
}

void Tunnel::cancel_page_wait() {
  if (page_wait_ != nullptr) state_.pages.cancel(std::exchange(page_wait_, nullptr));
}

// The access rules of now, on what those of its beginning let in.
std::optional<HttpError> Tunnel::refused_by_now() const {
  const Snapshot& now = *state_.snapshot;
  const ClientInfo& client = owner_->client_info();
  if (!now.access.client_allowed(rule_address(client.endpoint.unmapped()))) {
    return HttpError{ErrorKind::client_denied, "access.clients, since a reload"};
  }
  if (start_.is_connect && !now.access.port_allowed(start_.port)) {
    return HttpError{ErrorKind::port_denied, "access.connect_ports, since a reload"};
  }
  const std::uint16_t dialled = client.destination != nullptr ? client.destination->endpoint.port()
                                : client.inside != nullptr    ? client.inside->port
                                                              : start_.port;
  if (!start_.is_connect && !now.access.http_port_allowed(dialled)) {
    return HttpError{ErrorKind::port_denied, "access.deny_ports, since a reload"};
  }
  const bool to_parent = start_.to_parent || (client.inside != nullptr && client.inside->to_parent);
  const std::string_view asked = client.destination != nullptr ? client.destination->address
                                 : client.inside != nullptr    ? client.inside->host
                                                               : start_.host;
  const bool allowed =
      to_parent ? now.may_ask_parent_for(asked) : now.access.destination_allowed(rule_address(upstream_->peer));
  if (allowed) return std::nullopt;
  return HttpError{ErrorKind::destination_denied, "access.deny_destinations, since a reload"};
}

// One that was counted when it began is not counted as a request again.
bool Tunnel::is_blocked_by_now(filter::Verdict verdict) {
  if (verdict.decision != filter::Decision::blocked) return false;
  if (is_counted_ && verdict.filter != nullptr) {
    state_.counters.filters.count(verdict.filter->name, verdict.filter->action);
  }
  start_.verdict = std::move(verdict);
  start_.decision_id = state_.ids.next();
  return true;
}

}  // namespace bloomwall::proxy
