// What a reload makes of an open tunnel: it is decided again, by the current filters and access rules.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include "proxy/auth/authenticator.h"
#include "proxy/decision/user_check.h"
#include "proxy/tunnel/tunnel.h"

namespace bloomwall::proxy {

// The source of logins may have changed the user's groups. One who is gone stays, and the decision ends the tunnel.
void Tunnel::renew_user() {
  const auto& rules = state_.snapshot->authentication;
  if (start_.user == nullptr || rules == nullptr) return;
  UserPtr now = rules->current(start_.user, state_.authenticator.seconds());
  if (now == nullptr || now == start_.user) return;
  start_.user = std::move(now);
  if (peek_ != nullptr) peek_->set_user(start_.user);
}

// Until its user may have ended, by the clock of the day: looked at again each minute, since that one can be set. The
// longest there is where nobody has to log in, or the user has no end.
Milliseconds Tunnel::user_wait() const {
  constexpr std::int64_t kLookAgain = 60;  // seconds
  const bool has_end = start_.user != nullptr && start_.user->until != User::kForever;
  if (!has_end || !must_log_in(*state_.snapshot, owner_->client_info())) return Milliseconds::max();
  const std::int64_t left = start_.user->until - state_.authenticator.seconds();
  return std::chrono::seconds(std::clamp<std::int64_t>(left, 0, kLookAgain));
}

// A microsecond each.
void Tunnel::review() {
  cancel_page_wait();
  renew_user();
  Review review =
      state_.decider.review({.client = owner_->client_info(),
                             .host = start_.host,
                             .server_name = sni_,
                             .dialled = start_.dialled,
                             .url = start_.is_connect ? std::string_view() : std::string_view(start_.target),
                             .port = start_.port,
                             .to_parent = start_.to_parent,
                             .is_to_be_read = is_undecided() && would_be_intercepted(),
                             .user = start_.user,
                             .peer = upstream_->peer});
  switch (review.act) {
    case Review::Act::block:
      return cut_by_reload(std::move(review));
    case Review::Act::refuse:
      state_.counters.tunnels_cut_by_reload_total.add();
      return refuse(review.error, TunnelEndCause::rules);
    case Review::Act::wait_for_pages:
      page_wait_ = state_.pages.read(state_.decider.policy(), state_.decider.absent_pages(), *this);
      break;
    case Review::Act::keep:
      if (!is_to_be_intercepted()) {
        ends_at_.reset();
      } else if (!ends_at_) {
        ends_at_ = monotonic_now() + settings().timeouts.drain;
      }
      break;
  }
  if (peek_ == nullptr || peek_->held().empty()) on_timer();  // the new time-outs may be shorter
}

// Of TLS that passed: its host has got URL entries since, or the mode asks for them, so the client's next connection is
// decrypted.
bool Tunnel::is_to_be_intercepted() {
  const auto& inspection = state_.snapshot->inspection;
  if (inspection == nullptr || !(is_tls_ || (peek_ != nullptr && peek_->is_tls()))) return false;
  return would_be_intercepted();
}

bool Tunnel::is_undecided() const {
  return start_.is_connect && peek_ != nullptr && !peek_->is_inspected() && !peek_->holds_text();
}

bool Tunnel::would_be_intercepted() {
  const auto& inspection = state_.snapshot->inspection;
  if (inspection == nullptr) return false;
  const TlsQuestion question = tls_question();
  TlsRequest request = question.request(owner_->client_info(), start_.user.get(), state_);
  if (!sni_.empty()) {
    const auto judged = state_.decider.host(owner_->client_info(), start_.user.get(), sni_);
    if (judged) request.sni = TlsName::of(sni_, judged->verdict);
  }
  const TlsDecision decision = inspection->rules().decide(request);
  return decision.action == TlsAction::intercept && decision.reason == TlsReason::mark;
}

// One that was counted when it began is not counted as a request again.
void Tunnel::cut_by_reload(Review review) {
  state_.counters.tunnels_cut_by_reload_total.add();
  if (is_counted_ && review.verdict.filter != nullptr) {
    state_.counters.filters.count(review.verdict.filter->name, review.verdict.filter->action);
  }
  start_.verdict = std::move(review.verdict);
  start_.decision_id = state_.ids.next();
  cut_status_ = 403;
  cut(review.why, TunnelEndCause::rules);
}

void Tunnel::on_pages_read() {
  page_wait_ = nullptr;
  review();
}

void Tunnel::cancel_page_wait() {
  if (page_wait_ != nullptr) state_.pages.cancel(std::exchange(page_wait_, nullptr));
}

}  // namespace bloomwall::proxy
