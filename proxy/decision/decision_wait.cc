// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/decision_wait.h"

#include <algorithm>
#include <utility>

#include "proxy/auth/authenticator.h"
#include "proxy/auth/login.h"
#include "proxy/decision/worker_state.h"

namespace bloomwall::proxy {

DecisionWait::DecisionWait(WorkerState& worker, Handler& handler)
    : worker_(worker),
      handler_(handler),
      deadline_(worker.io.loop.timers(), [](void* self) { static_cast<DecisionWait*>(self)->on_deadline(); }, this) {}

DecisionWait::~DecisionWait() { cancel(); }

void DecisionWait::for_pages(Milliseconds limit) {
  if (!std::exchange(has_missed_pages_, true)) worker_.counters.verdicts_waited_total.add();
  begin(limit);
  pages_ = worker_.pages.read(worker_.decider.policy(), worker_.decider.absent_pages(), *this);
}

std::function<void(const Login&)> DecisionWait::for_login(Milliseconds limit) {
  begin(limit);
  limit_ = limit;
  progress_ = worker_.authenticator.progress();
  login_.reset();
  ticket_ = std::make_shared<LoginTicket>(this);
  return [ticket = ticket_, mailbox = worker_.mailbox](const Login& login) {
    ticket->is_answered = true;
    mailbox->post([ticket, login] {
      if (ticket->wait != nullptr) ticket->wait->on_login(login);
    });
  };
}

void DecisionWait::on_login(const Login& login) {
  ticket_.reset();
  login_ = std::make_unique<const Login>(login);
  deadline_.clear();
  handler_.on_decision_ready();
}

// Pages that came may be driven out again before they are asked, so this may not be the first wait.
void DecisionWait::begin(Milliseconds limit) {
  const Milliseconds now = monotonic_now();
  if (since_ == Milliseconds(0)) since_ = now;
  deadline_.set(std::max(since_ + limit - now, Milliseconds(1)));
}

void DecisionWait::cancel() {
  if (pages_ != nullptr) worker_.pages.cancel(std::exchange(pages_, nullptr));
  if (ticket_ != nullptr) std::exchange(ticket_, nullptr)->wait = nullptr;
  deadline_.clear();
}

void DecisionWait::renew() {
  since_ = Milliseconds(0);
  has_missed_pages_ = false;
}

void DecisionWait::on_pages_read() {
  pages_ = nullptr;
  deadline_.clear();
  handler_.on_decision_ready();
}

void DecisionWait::on_deadline() {
  const bool is_login = ticket_ != nullptr;
  if (is_login && monotonic_now() - since_ < kMostWait) {
    const std::uint64_t before = std::exchange(progress_, worker_.authenticator.progress());
    if (progress_ != before || worker_.authenticator.is_checking() || ticket_->is_answered) {
      return deadline_.set(limit_);
    }
  }
  cancel();
  if (is_login) {
    return handler_.on_decision_late(
        {ErrorKind::login_unchecked, "its turn to be checked did not come within timeouts.connect"});
  }
  handler_.on_decision_late({ErrorKind::filter_late, "pages of a filter did not come within timeouts.connect"});
}

}  // namespace bloomwall::proxy
