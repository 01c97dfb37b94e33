// The verdict on an exchange's request: who asks, what for, and the pages of filters that it takes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "proxy/net/addresses.h"
#include "proxy/net/exchange.h"

namespace bloomwall::proxy {
namespace {

constexpr HttpError kClientDenied{ErrorKind::client_denied, "access.clients"};

// A request that this very process sent out before: it stands in Via with its instance. Namesakes are the judge's affair.
bool has_looped(const RequestHead& head, std::string_view own_via) {
  for (const Field& field : head.fields) {
    if (field.id == FieldId::via && field.value.find(own_via) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

void Exchange::judge() {
  const RequestHead& head = request_.head();
  const bool redirected = owner_->client_info().destination != nullptr && !is_unasked_;
  TargetJudge& judge = redirected ? state_.redirected_judge : state_.judge;
  const ClientInfo::Inside* const inside = owner_->client_info().inside.get();
  auto judgement = inside != nullptr ? judge.inside(head, inside->host, inside->port, *state_.policy, Waiting::never)
                                     : judge.request(head, *state_.policy, snapshot_->access, Waiting::never);
  if (!judgement) return answer_error(judgement.error());
  if (judgement->pages_absent) return await_pages(judge.absent_pages());
  if (inside != nullptr && judgement->verdict.decision != filter::Decision::blocked &&
      !snapshot_->access.http_port_allowed(inside->port)) {
    return answer_error({ErrorKind::port_denied, "access.deny_ports"});
  }
  host_ = judgement->host;
  port_ = judgement->port;
  host_field_port_ = judgement->host_field_port;
  verdict_ = std::move(judgement->verdict);
  if (const auto& meant = owner_->client_info().destination; meant != nullptr) {
    auto judged = state_.judge.sni(meant->address, *state_.policy);
    if (!judged) return answer_error(judged.error());
    add_verdict(std::move(judged->verdict));
    // Host may name another port than the one that is dialled.
    const bool goes_out = judgement->route == Route::forward && verdict_.decision != filter::Decision::blocked;
    if (goes_out && !snapshot_->access.http_port_allowed(meant->endpoint.port())) {
      return answer_error({ErrorKind::port_denied, "access.deny_ports"});
    }
  }
  is_uncounted_ = true;
  act_on(*judgement);
}

// Once, when nothing more can change it.
void Exchange::count_verdict() {
  if (!std::exchange(is_uncounted_, false)) return;
  count_questions();
  state_.counters.count_verdict(class_of(request_.head().method), verdict_);
}

void Exchange::count_questions() {
  Counters& counters = state_.counters;
  counters.filter_lookups_total.add(verdict_.questions);
  if (verdict_.reason == filter::VerdictReason::allow_list) counters.allowlist_hits_total.add();
  if (verdict_.host_has_marks) counters.host_only_requests_total.add();
}

void Exchange::act_on(const Judgement& judgement) {
  if (verdict_.decision != filter::Decision::allowed) decision_id_ = state_.ids.next();
  if (verdict_.decision == filter::Decision::blocked) return deny();
  switch (judgement.route) {
    case Route::forward:
    case Route::tunnel:
      return route_to_origin();
    case Route::answer_trace:
      write_trace_reply(state_.to_client.head(), request_.head(), reply_context(!may_keep_after_local_answer()));
      return answer_local(200, false);
    case Route::answer_options:
      write_options_reply(state_.to_client.head(), reply_context(!may_keep_after_local_answer()));
      return answer_local(200, false);
  }
}

// What a client names and where that leads need a pass each (whoever is redirected may name any host whatever the address): the
// worse verdict counts, and of two that allow it the one that has something to say.
void Exchange::add_verdict(KeptVerdict other) {
  const auto rank = [](const filter::Verdict& verdict) {
    if (verdict.decision == filter::Decision::blocked) return 3;
    if (verdict.decision == filter::Decision::monitored) return 2;
    return verdict.reason == filter::VerdictReason::unlisted ? 0 : 1;
  };
  if (rank(other) > rank(verdict_)) std::swap(other, verdict_);
  verdict_.questions += other.questions;
  verdict_.host_has_marks |= other.host_has_marks;
}

// By the policy of now: what a name leads to is known only after the request was judged. The first address that is blocked
// stands for all of them; one that is monitored counts as soon as it is dialled.
bool Exchange::may_dial(const Endpoint& peer) {
  const filter::Policy& policy = *state_.policy;
  if (!policy.has_networks()) return true;
  const RequestHead& head = request_.head();
  const NetworkQuestion question(peer, snapshot_->access);
  const ClientInfo::Inside* const inside = owner_->client_info().inside.get();
  filter::Verdict verdict =
      inside == nullptr ? state_.judge.request_to(question.addresses(), head, policy)
                        : state_.judge.inside_to(question.addresses(), head, inside->host, inside->port, policy);
  // A redirected client may call an address by any name, and so by one that is allowed.
  if (const auto& meant = owner_->client_info().destination; meant != nullptr) {
    filter::Verdict own = state_.judge.literal_to(question.addresses(), meant->address, policy);
    if (own.decision > verdict.decision) verdict = std::move(own);
  }
  if (verdict.decision >= filter::Decision::blocked) {
    if (address_verdict_.filter == nullptr) address_verdict_ = std::move(verdict);
    return false;
  }
  if (verdict.decision == filter::Decision::monitored && decision_id_.empty()) decision_id_ = state_.ids.next();
  add_verdict(std::move(verdict));
  return true;
}

// On a connection that was made for an earlier request, and perhaps under other rules.
bool Exchange::may_send_to(const Endpoint& peer) {
  return snapshot_->access.destination_allowed(rule_address(peer)) && may_dial(peer);
}

// Where a name leads the parent finds out; an address is where it goes, and may carry another.
bool Exchange::may_ask_parent() {
  std::string_view host = origin().host;
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const auto literal = Endpoint::parse_ip(host);
  return !literal || may_dial(*literal);
}

// The client is read no further than the end of the head, as while dialling.
void Exchange::await_pages(std::span<const std::byte* const> absent) {
  if (!std::exchange(has_waited_for_pages_, true)) {
    state_.counters.verdicts_waited_total.add();
    waiting_since_ = monotonic_now();
  }
  // Pages that came may be driven out again before they are asked, so this may not be the first wait.
  const Milliseconds left = waiting_since_ + snapshot_->settings.timeouts.connect - monotonic_now();
  deadline_.set(std::max(left, Milliseconds(1)));
  if (request_state_ != RequestState::complete) request_state_ = RequestState::awaiting_upstream;
  page_wait_ = state_.pages.read(state_.policy, absent, *this);
}

void Exchange::on_pages_read() {
  page_wait_ = nullptr;
  snapshot_ = state_.snapshot;  // the verdict may come from another policy than the one that was asked first
  deadline_.clear();
  if (!is_client_allowed()) return answer_error(kClientDenied);
  judge();
  flush_upload();  // nobody reads the client just now, who would do it
}

void Exchange::cancel_page_wait() {
  if (page_wait_ != nullptr) state_.pages.cancel(std::exchange(page_wait_, nullptr));
}

bool Exchange::is_client_allowed() const {
  return snapshot_->access.client_allowed(rule_address(owner_->client_info().endpoint.unmapped()));
}

std::optional<HttpError> Exchange::refuse_client() const {
  if (!is_client_allowed()) return kClientDenied;
  if (!state_.via.empty() && has_looped(request_.head(), state_.via)) {
    return HttpError{ErrorKind::loop, "this proxy stands in Via already"};
  }
  const conf::Limits& limits = snapshot_->settings.limits;
  if (limits.requests_per_second > 0 &&
      !state_.rate.allow(owner_->client_info().endpoint, limits.requests_per_second)) {
    return HttpError{ErrorKind::too_many_requests, "limits.requests_per_second"};
  }
  if (limits.request_body > 0 && request_.head().content_length > limits.request_body) {
    return HttpError{ErrorKind::body_too_large, "limits.request_body"};
  }
  return std::nullopt;
}

}  // namespace bloomwall::proxy
