// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/decision_wait.h"

#include <algorithm>
#include <utility>

#include "proxy/net/worker_state.h"

namespace bloomwall::proxy {

DecisionWait::DecisionWait(WorkerState& worker, Handler& handler)
    : worker_(worker),
      handler_(handler),
      deadline_(worker.io.loop.timers(), [](void* self) { static_cast<DecisionWait*>(self)->on_deadline(); }, this) {}

void DecisionWait::for_pages(Milliseconds limit) {
  if (since_ == Milliseconds(0)) worker_.counters.verdicts_waited_total.add();
  begin(limit);
  pages_ = worker_.pages.read(worker_.decider.policy(), worker_.decider.absent_pages(), *this);
}

// Pages that came may be driven out again before they are asked, so this may not be the first wait.
void DecisionWait::begin(Milliseconds limit) {
  const Milliseconds now = monotonic_now();
  if (since_ == Milliseconds(0)) since_ = now;
  deadline_.set(std::max(since_ + limit - now, Milliseconds(1)));
}

void DecisionWait::cancel() {
  if (pages_ != nullptr) worker_.pages.cancel(std::exchange(pages_, nullptr));
  deadline_.clear();
}

void DecisionWait::on_pages_read() {
  pages_ = nullptr;
  deadline_.clear();
  handler_.on_decision_ready();
}

void DecisionWait::on_deadline() {
  cancel();
  handler_.on_decision_late({ErrorKind::filter_late, "pages of a filter did not come within timeouts.connect"});
}

}  // namespace bloomwall::proxy
