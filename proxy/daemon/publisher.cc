// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/publisher.h"

#include <algorithm>
#include <string>

#include "proxy/decision/group_policies.h"
#include "proxy/explain/called_users.h"
#include "proxy/log/log.h"
#include "proxy/worker/workers.h"

namespace bloomwall::proxy {
namespace {

void answer_once(std::function<void()>& waiting) {
  if (const auto adopted = std::exchange(waiting, nullptr)) adopted();
}

}  // namespace

Publisher::Publisher(EventLoop& loop, Process process, std::function<Instant()> now)
    : loop_(loop),
      process_(std::move(process)),
      now_(std::move(now)),
      schedule_tick_(loop.timers(), [](void* self) { static_cast<Publisher*>(self)->on_schedule_tick(); }, this) {
  schedule_tick_.set(kSchedulePeriod);
}

void Publisher::serve(const Edition& loaded, const std::shared_ptr<Handover>& handover) {
  handover->served(take(loaded, handover));
}

ReloadOutcome Publisher::take(const Edition& loaded, const std::shared_ptr<Handover>& handover) {
  if (phase_ == Phase::draining) return {kExitError, {}, {"bloomwall is stopping"}};  // workers that ended take nothing
  const Edition edition = with_state(loaded);
  if (workers_ == nullptr) {
    const auto started = process_.start(edition);
    handover->adopted();
    if (!started) return started.error();
    workers_ = *started;
    phase_ = Phase::serving;
  } else {
    workers_->publish(edition, [this, handover] { loop_.post([handover] { handover->adopted(); }); });
  }
  keep(edition);
  process_.on_reloaded();
  ReloadOutcome outcome;
  for (const std::string& line : names().configured()) outcome.warnings.push_back(line);
  for (const std::string& line : void_names().warnings) outcome.warnings.push_back(line);
  return outcome;
}

Edition Publisher::with_state(const Edition& edition) const {
  const State& state = state_->state();
  return Edition{.snapshot = edition.snapshot,
                 .policy = edition.policy->with(with_called_users(state.overrides(), edition.snapshot->names.get())),
                 .switches = state.switches_in_force()}
      .at(now_());
}

void Publisher::post(const Edition& edition, const std::function<void()>& adopted) {
  workers_->publish(edition, adopted);
  keep(edition);
}

void Publisher::keep(const Edition& edition) {
  served_ = edition;
  std::erase_if(policies_, [](const auto& policy) { return policy.expired(); });
  policies_.emplace_back(edition.policy);
}

void Publisher::publish(std::function<void()> adopted) {
  const auto waiting = std::make_shared<std::function<void()>>(std::move(adopted));
  std::erase_if(waiting_, [](const Waiting& each) { return *each == nullptr; });
  waiting_.push_back(waiting);
  const auto answered = [this, waiting] { loop_.post([waiting] { answer_once(*waiting); }); };
  if (workers_ == nullptr) return answered();  // there is no worker that could adopt them
  if (phase_ != Phase::draining) return post(with_state(served_), answered);
  post(with_state(served_), {});  // some workers may have ended, and would never adopt them
  answered();
}

void Publisher::drain() {
  phase_ = Phase::draining;
  for (const Waiting& waiting : waiting_) loop_.post([waiting] { answer_once(*waiting); });
}

bool Publisher::is_awaited() const {
  return state_->is_asked() || std::ranges::any_of(waiting_, [](const Waiting& each) { return *each != nullptr; });
}

// A step of the clock may change what groups do, too.
void Publisher::on_schedule_tick() {
  schedule_tick_.set(kSchedulePeriod);
  if (workers_ == nullptr || phase_ == Phase::draining || served_.groups == nullptr) return;
  const Instant now = now_();
  if (served_.groups->hold_at(now)) return;
  const Edition next = served_.at(now);
  if (next.groups->says_the_same_as(*served_.groups)) {
    served_.groups = next.groups;  // which hold longer; no worker need know
    return;
  }
  log::info("schedules: {}", describe_changes(*served_.snapshot->groups, *served_.groups, *next.groups));
  post(next, {});
}

NameReview Publisher::names() const { return {*served_.snapshot, state_->state().tokens.get()}; }

const VoidNames& Publisher::void_names() const {
  const bool is_same = void_names_of_.first == served_.snapshot && void_names_of_.second == state_->shared();
  if (is_same || served_.snapshot == nullptr) return void_names_;
  const State& state = state_->state();
  void_names_ = find_void_names(names(), state.exceptions, state.switches, state.tokens.get());
  void_names_of_ = {served_.snapshot, state_->shared()};
  return void_names_;
}

std::size_t Publisher::policies_alive() const {
  return static_cast<std::size_t>(std::ranges::count_if(policies_, [](const auto& each) { return !each.expired(); }));
}

}  // namespace bloomwall::proxy
