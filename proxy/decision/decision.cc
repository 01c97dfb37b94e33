// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/decision.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>

#include "proxy/decision/self_pages.h"
#include "proxy/decision/self_request.h"
#include "proxy/decision/user_check.h"
#include "proxy/http/serialise.h"
#include "proxy/reply/authority_page.h"
#include "proxy/reply/report_form.h"
#include "proxy/upstream/addresses.h"

namespace bloomwall::proxy {
namespace {

constexpr HttpError kClientDenied{ErrorKind::client_denied, "access.clients"};
constexpr HttpError kCertificateRefused{ErrorKind::client_denied, "its certificate is not valid any more"};
constexpr HttpError kPortDenied{ErrorKind::port_denied, "access.deny_ports"};

// A loop: this process has forwarded the request before, its instance stands in Via. TargetCheck looks for its name.
bool is_loop_by_instance(const RequestHead& head, std::string_view own_via) {
  for (const Field& field : head.fields) {
    if (field.id == FieldId::via && field.value.find(own_via) != std::string_view::npos) return true;
  }
  return false;
}

Decision refused(const HttpError& error) { return {.act = Decision::Act::refuse, .error = error}; }

Decision::Act act_of(Route route) {
  switch (route) {
    case Route::forward:
      return Decision::Act::forward;
    case Route::tunnel:
      return Decision::Act::tunnel;
    case Route::answer_trace:
      return Decision::Act::answer_trace;
    case Route::answer_options:
      return Decision::Act::answer_options;
  }
  return Decision::Act::forward;
}

}  // namespace

void Decider::adopt(SnapshotPtr snapshot, PolicyPtr policy, GroupPoliciesPtr groups) {
  snapshot_ = std::move(snapshot);
  policy_ = std::move(policy);
  group_policies_ = std::move(groups);
  has_networks_ = group_policies_ == nullptr ? policy_->has_networks() : group_policies_->has_networks();
  overrides_ask_who_ = policy_->overrides_ask_who();  // which those of groups share
  TargetRules rules;
  rules.strict_path = snapshot_->settings.access.strict_path;
  if (snapshot_->settings.headers.via) rules.via_name = snapshot_->settings.headers.via_name;  // lives in the snapshot
  target_check_ = TargetCheck(rules);
  rules.accept_origin_form = true;
  redirected_check_ = TargetCheck(rules);
  rules.accept_origin_form = false;
  rules.accept_https = true;
  question_check_ = TargetCheck(rules);
  absent_ = {};
  const auto switches = group_policies_ == nullptr ? std::span<const Switch>() : group_policies_->switches();
  block_ends_.adopt(snapshot_->groups, policy_, switches, instant_now());
}

// A client's address is that of the PROXY header, where one was sent. Transparent listeners know it as well.
std::size_t Decider::group_of(const ClientInfo& client, const User* user) const {
  if (groups() == nullptr) return 0;
  const std::string_view listener = client.listener_rule == nullptr ? std::string_view() : *client.listener_rule;
  GroupMember member;
  if (user != nullptr) member = {.user = user->name, .user_groups = user->groups};
  if (client.certificate != nullptr) member.certificate = client.certificate->names;
  return groups()->group_of(client.endpoint.address(), listener, member);
}

filter::AskedPolicy Decider::seen_by(const ClientInfo& client, const User* user, std::size_t group) const {
  const filter::Policy& current = group_policies_ == nullptr ? *policy_ : *group_policies_->of(group);
  filter::AskedPolicy seen = as_of_.policy == nullptr ? current : *as_of_.policy;
  seen.asker.at = as_of_.at;
  if (!overrides_ask_who_) return seen;
  seen.asker.client = client.endpoint.address();
  if (user != nullptr) seen.asker.user = user->name;
  if (group_policies_ != nullptr) seen.asker.group = groups()->name(group);
  return seen;
}

bool Decider::is_client_allowed(const ClientInfo& client) const {
  return snapshot_->access.client_allowed(client.endpoint.address());
}

// Inside tunnels and on transparent listeners that host is none of ours: its requests go where others do.
bool Decider::is_for_self(const RequestHead& head, const ClientInfo& client) const {
  if (is_inside_self(*snapshot_, client)) return head.method != Method::connect;
  const std::string_view path = self_target(head);
  if (client.inside != nullptr || client.destination != nullptr) {
    return snapshot_->takes_reports() && head.method != Method::connect && report_path(path, true).has_value();
  }
  const bool is_origin_form = head.target.form == TargetForm::origin;
  if (is_origin_form && is_for_listener(head)) return true;
  std::string_view host = head.target.authority.host;
  if (is_origin_form && head.host) host = head.host->host;
  if (host.ends_with('.')) host.remove_suffix(1);
  const bool is_spoken = head.target.form != TargetForm::absolute || same_name(head.target.scheme, "http");
  return is_spoken &&
         (same_name(host, snapshot_->settings.self_page.host) || asks_listener_by_itself(head, client, *snapshot_));
}

// A request for the proxy itself, on a listener that would refuse it otherwise.
bool Decider::asks_for_authority(const RequestContext& request) const {
  const RequestHead& head = request.head;
  const bool is_here = request.client.inside == nullptr && request.client.destination == nullptr;
  return is_here && snapshot_->inspection != nullptr && head.target.form == TargetForm::origin &&
         (head.method == Method::get || head.method == Method::head) &&
         authority_resource(head.target.path_and_query).has_value();
}

std::optional<HttpError> Decider::refuse_client(const RequestContext& request, std::string_view own_via) const {
  if (!is_client_allowed(request.client)) return kClientDenied;
  if (!is_certificate_valid(request.client)) return kCertificateRefused;
  if (!own_via.empty() && is_loop_by_instance(request.head, own_via)) {
    return HttpError{ErrorKind::loop, "Via already names this proxy"};
  }
  return std::nullopt;
}

bool Decider::is_certificate_valid(const ClientInfo& client) const {
  if (!client.is_secure || client.listener_rule == nullptr) return true;
  ClientLogin::CertificateCheck& known = client.login->certificate;
  if (std::exchange(known.verified_by, snapshot_->generation) == snapshot_->generation) return known.is_valid;
  const auto rules = std::ranges::find(snapshot_->listeners, *client.listener_rule, &ListenerRules::address);
  const bool is_asked = rules != snapshot_->listeners.end() && rules->tls != nullptr;
  const ClientInfo::Certificate* const own = client.certificate.get();
  known.is_valid = !is_asked || (own == nullptr ? rules->tls->admits(nullptr, nullptr)
                                                : rules->tls->admits(own->shown.get(), own->chain.get()));
  return known.is_valid;
}

Decision Decider::decide(const RequestContext& request) {
  const std::size_t group = group_of(request.client, request.user);
  Decision decision = decide_request(request, group);
  if (group_policies_ != nullptr) decision.verdict.group = groups()->name(group);
  const bool may_go_on = decision.act == Decision::Act::block && decision.verdict.leaves_urls();
  if (decision.act != Decision::Act::forward && decision.act != Decision::Act::tunnel && !may_go_on) return decision;
  const SafeSearch::Found found = safe_search_of(group, decision.host);
  if (request.client.inside == nullptr) {
    decision.safe_search = found;
  } else if (found && found.dialled != request.client.inside->dialled_name()) {  // it leads where it was dialled
    decision.act = Decision::Act::refuse;
    decision.error = {ErrorKind::misdirected, "groups[].safe_search: the tunnel leads past it"};
  }
  return decision;
}

Decision Decider::decide_self(const RequestContext& request) const {
  const RequestHead& head = request.head;
  if (head.method == Method::connect) {
    if (snapshot_->inspection == nullptr) return refused(kSelfIsPlain);
    return {.act = Decision::Act::show_self,
            .host = snapshot_->settings.self_page.host,
            .port = head.target.authority.port};
  }
  const bool is_read = head.method == Method::get || head.method == Method::head;
  const bool asks_for_authority =
      is_read && snapshot_->inspection != nullptr && authority_resource(self_target(head)).has_value();
  return {.act = asks_for_authority ? Decision::Act::answer_authority : Decision::Act::answer_self};
}

Decision Decider::decide_request(const RequestContext& request, std::size_t group) {
  // Checked again: the rules may have changed since the connection was accepted.
  if (!is_client_allowed(request.client)) return refused(kClientDenied);
  const std::uint64_t most = snapshot_->settings.limits.request_body;
  if (most > 0 && request.head.content_length > most) {
    return refused({ErrorKind::body_too_large, "limits.request_body"});
  }
  if (!request.is_question && is_for_self(request.head, request.client)) return decide_self(request);
  const ClientInfo::Inside* const inside = request.client.inside.get();
  const ClientInfo::Destination* const meant = request.client.destination.get();
  const filter::AskedPolicy policy = seen_by(request.client, request.user, group);
  // First, because `host` below points into memory of the TargetCheck that was called last.
  auto others = judge_other_names(request, policy);
  if (!others) return refused(others.error());
  if (others->pages_absent) return {.act = Decision::Act::wait_for_pages};
  TargetCheck& judge = request.is_question                               ? question_check_
                       : meant != nullptr && !request.is_implicit_tunnel ? redirected_check_
                                                                         : target_check_;
  auto judged = inside != nullptr ? judge.inside(request.head, inside->target(), policy, Waiting::non_blocking)
                                  : judge.request(request.head, policy, snapshot_->access, Waiting::non_blocking);
  if (!judged)
    return asks_for_authority(request) ? Decision{.act = Decision::Act::answer_authority} : refused(judged.error());
  if (judged->pages_absent) {
    absent_ = judge.absent_pages();
    return {.act = Decision::Act::wait_for_pages};
  }
  if (inside != nullptr && inside->scheme == Scheme::http && !is_blocked(judged->verdict) &&
      !snapshot_->access.http_port_allowed(inside->port)) {
    return refused(kPortDenied);
  }
  Decision decision{.act = act_of(judged->route),
                    .verdict = std::move(judged->verdict),
                    .host = judged->host,
                    .port = judged->port,
                    .host_field_port = judged->host_field_port};
  decision.verdict.name = judged->name;
  if (others->connect && others->connect->decision > decision.verdict.decision) {
    decision.verdict.join(*std::move(others->connect));
  }
  if (others->address) decision.verdict.join(*std::move(others->address));
  if (others->readings) decision.verdict.join(*std::move(others->readings));
  if (is_blocked(decision.verdict)) {
    decision.act = Decision::Act::block;
  } else if (meant != nullptr && decision.act == Decision::Act::forward &&
             !snapshot_->access.http_port_allowed(meant->endpoint.port())) {
    decision.act = Decision::Act::refuse;  // Host may name another port than the one that is dialled
    decision.error = kPortDenied;
  }
  return decision;
}

// The first address that is blocked stands for all that a name has.
KeptVerdict Decider::address(const RequestContext& request, const Endpoint& peer) {
  const filter::AskedPolicy policy = seen_by(request.client, request.user);
  if (!policy.policy.has_networks()) return {};
  const NetworkQuestion question(peer, snapshot_->access);
  const ClientInfo::Inside* const inside = request.client.inside.get();
  filter::Verdict verdict = inside == nullptr
                                ? target_check_.request_to(question.addresses(), request.head, policy)
                                : target_check_.inside_to(question.addresses(), request.head, inside->target(), policy);
  // A redirected client may call an address by any name, and so by one that is allowed.
  if (const auto& meant = request.client.destination; meant != nullptr) {
    filter::Verdict own = target_check_.literal_to(question.addresses(), meant->address, policy);
    if (own.decision > verdict.decision) verdict = std::move(own);
  }
  return verdict;
}

// A verdict comes before the rules, but what takes pages from the disk is asked again when they have come.
// Whoever need not log in any more is treated as one who has not.
Review Decider::review(const TunnelContext& opened) {
  TunnelContext tunnel = opened;
  if (!must_log_in(*snapshot_, tunnel.client)) tunnel.user = nullptr;
  Review review = block(tunnel);
  if (group_policies_ != nullptr) {
    const std::size_t group = group_of(tunnel.client, tunnel.user.get());
    const bool is_denied = review.verdict.reason == filter::VerdictReason::denied;
    if (review.act == Review::Act::block && !is_denied && !groups()->ends_tunnels(group)) review = {};
    review.verdict.group = groups()->name(group);
  }
  if (review.act == Review::Act::block) return review;
  if (is_unsafe(tunnel))
    return {.act = Review::Act::refuse, .error = {ErrorKind::tunnel_denied, "groups[].safe_search, since a reload"}};
  if (const auto error = refuse(tunnel)) return {.act = Review::Act::refuse, .error = *error};
  return review;
}

// After an upgrade its URL is asked under every name; the host alone may be one that is blocked but for this URL.
Review Decider::block(const TunnelContext& tunnel) {
  const ClientInfo& client = tunnel.client;
  if (!tunnel.url.empty()) {
    if (auto verdict = peer_of(tunnel); is_blocked(verdict)) {
      return Review::blocked(std::move(verdict), "a reload has blocked the address");
    }
    return block_url(tunnel);
  }
  Review review = block_host(tunnel, tunnel.host, "a reload has blocked the host");
  if (review.act == Review::Act::keep && client.inside != nullptr) {
    review = block_host(tunnel, client.inside->host, "a reload has blocked the tunnel's host");
    if (review.act == Review::Act::keep && !client.inside->authority.empty()) {
      review = block_host(tunnel, client.inside->authority, "a reload has blocked the tunnel's host");
    }
  }
  if (review.act == Review::Act::keep && !tunnel.server_name.empty()) {
    review = block_host(tunnel, tunnel.server_name, "a reload has blocked the server name");
  }
  if (review.act != Review::Act::keep) return review;
  constexpr const char* kAddress = "a reload has blocked the address";
  if (client.destination != nullptr) {
    auto judged = destination(client, client.destination->address);
    if (judged && is_blocked(judged->verdict)) return Review::blocked(std::move(judged->verdict), kAddress);
  }
  if (auto verdict = peer_of(tunnel); is_blocked(verdict)) return Review::blocked(std::move(verdict), kAddress);
  return {};
}

Review Decider::block_host(const TunnelContext& tunnel, std::string_view host, const char* why) {
  auto judged = target_check_.host(host, seen_by(tunnel.client, tunnel.user.get()));
  if (!judged || !is_blocked(judged->verdict)) return {};
  if (tunnel.is_to_be_read && judged->verdict.allowed_urls != filter::VerdictReason::unlisted) return {};
  return Review::blocked(std::move(judged->verdict), why);
}

// The address of the far end, by the networks in filters. Inside another tunnel that one's host needs its own pass.
filter::Verdict Decider::peer_of(const TunnelContext& tunnel) {
  const ClientInfo::Inside* const inside = tunnel.client.inside.get();
  const bool to_parent = tunnel.to_parent || (inside != nullptr && inside->to_parent);
  const filter::AskedPolicy policy = seen_by(tunnel.client, tunnel.user.get());
  if (to_parent || !policy.policy.has_networks()) return {};
  const NetworkQuestion question(tunnel.peer, snapshot_->access);
  const TargetCheck::Addresses addresses = question.addresses();
  if (const auto& meant = tunnel.client.destination; meant != nullptr) {
    filter::Verdict verdict = target_check_.literal_to(addresses, meant->address, policy);
    if (is_blocked(verdict)) return verdict;
  }
  if (tunnel.url.empty()) return target_check_.host_to(addresses, tunnel.host, policy);
  if (inside != nullptr) {
    filter::Verdict verdict = target_check_.host_to(addresses, inside->host, policy);
    if (is_blocked(verdict)) return verdict;
  }
  return target_check_.url_to(addresses, tunnel.url, policy);
}

// Its user is gone; or it has none, because no login was required when it was opened.
bool Decider::has_lost_user(const TunnelContext& tunnel) const {
  if (!must_log_in(*snapshot_, tunnel.client)) return false;
  const AuthenticationRules& rules = *snapshot_->authentication;
  if (tunnel.user != nullptr) return rules.current(tunnel.user, std::time(nullptr)) == nullptr;
  return !rules.is_exempt(tunnel.host) || (!tunnel.server_name.empty() && !rules.is_exempt(tunnel.server_name));
}

// The current access rules, on what those of its beginning let in.
std::optional<HttpError> Decider::refuse(const TunnelContext& tunnel) const {
  const ClientInfo& client = tunnel.client;
  const bool is_connect = tunnel.url.empty();
  if (!is_client_allowed(client)) return HttpError{ErrorKind::client_denied, "access.clients, since a reload"};
  if (!is_certificate_valid(client)) return kCertificateRefused;
  if (has_lost_user(tunnel)) return HttpError{ErrorKind::tunnel_denied, "authentication, since a reload"};
  if (is_connect && !snapshot_->access.port_allowed(tunnel.port)) {
    return HttpError{ErrorKind::port_denied, "access.connect_ports, since a reload"};
  }
  const std::uint16_t dialled = client.destination != nullptr ? client.destination->endpoint.port()
                                : client.inside != nullptr    ? client.inside->port
                                                              : tunnel.port;
  if (!is_connect && !snapshot_->access.http_port_allowed(dialled)) {
    return HttpError{ErrorKind::port_denied, "access.deny_ports, since a reload"};
  }
  const bool to_parent = tunnel.to_parent || (client.inside != nullptr && client.inside->to_parent);
  const std::string_view asked = client.destination != nullptr ? std::string_view(client.destination->address)
                                 : client.inside != nullptr    ? std::string_view(client.inside->host)
                                                               : tunnel.host;
  const bool allowed =
      to_parent ? snapshot_->may_ask_parent_for(asked) : snapshot_->access.destination_allowed(tunnel.peer.address());
  if (allowed) return std::nullopt;
  return HttpError{ErrorKind::destination_denied, "access.deny_destinations, since a reload"};
}

}  // namespace bloomwall::proxy
