// The verdict on an exchange's request: who asks, what for, and the pages of filters that it takes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "proxy/net/addresses.h"
#include "proxy/net/exchange.h"

namespace bloomwall::proxy {

void Exchange::decide(GatheredWrite& out) {
  Decision decision = state_.decider.decide(context());
  if (decision.act == Decision::Act::wait_for_pages) return await_pages();
  host_ = decision.host;
  port_ = decision.port;
  host_field_port_ = decision.host_field_port;
  verdict_ = std::move(decision.verdict);
  is_uncounted_ = decision.act != Decision::Act::refuse;
  if (is_uncounted_ && verdict_.decision != filter::Decision::allowed) decision_id_ = state_.ids.next();
  switch (decision.act) {
    case Decision::Act::refuse:
      return answer_error(decision.error);
    case Decision::Act::block:
      return deny();
    case Decision::Act::forward:
    case Decision::Act::tunnel:
      return route_to_origin(out);
    case Decision::Act::answer_trace:
      return answer_trace();
    case Decision::Act::answer_options:
      return answer_options();
    case Decision::Act::wait_for_pages:
      return;
  }
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

// What a name leads to is known only after the request was decided. The first address that is blocked stands for all of them; one
// that is monitored counts as soon as it is dialled.
bool Exchange::may_dial(const Endpoint& peer) {
  if (!state_.decider.has_networks()) return true;
  KeptVerdict verdict = state_.decider.address(context(), peer);
  if (verdict.decision >= filter::Decision::blocked) {
    if (address_verdict_.filter == nullptr) address_verdict_ = std::move(verdict);
    return false;
  }
  if (verdict.decision == filter::Decision::monitored && decision_id_.empty()) decision_id_ = state_.ids.next();
  verdict_.join(std::move(verdict));
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
void Exchange::await_pages() {
  if (!std::exchange(has_waited_for_pages_, true)) {
    state_.counters.verdicts_waited_total.add();
    waiting_since_ = monotonic_now();
  }
  // Pages that came may be driven out again before they are asked, so this may not be the first wait.
  const Milliseconds left = waiting_since_ + snapshot_->settings.timeouts.connect - monotonic_now();
  deadline_.set(std::max(left, Milliseconds(1)));
  if (request_state_ != RequestState::complete) request_state_ = RequestState::awaiting_upstream;
  page_wait_ = state_.pages.read(state_.decider.policy(), state_.decider.absent_pages(), *this);
}

void Exchange::on_pages_read() {
  page_wait_ = nullptr;
  snapshot_ = state_.snapshot;  // the verdict may come from another policy than the one that was asked first
  deadline_.clear();
  GatheredWrite out(state_.gather);
  decide(out);
  flush_upload(out);
}

void Exchange::cancel_page_wait() {
  if (page_wait_ != nullptr) state_.pages.cancel(std::exchange(page_wait_, nullptr));
}

std::optional<HttpError> Exchange::refuse_client() const {
  if (const auto error = state_.decider.refuse_client(context(), state_.via)) return error;
  const conf::Limits& limits = snapshot_->settings.limits;
  if (limits.requests_per_second > 0 &&
      !state_.rate.allow(owner_->client_info().endpoint, limits.requests_per_second)) {
    return HttpError{ErrorKind::too_many_requests, "limits.requests_per_second"};
  }
  return std::nullopt;
}

}  // namespace bloomwall::proxy
