// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/step_queue.h"

namespace bloomwall::proxy {

// A timer of no time, and no triggered event: libevent runs those within the turn in which they are triggered.
StepQueue::StepQueue(EventLoop& loop) {
  wake_.assign(
      loop.base(), -1, 0, [](evutil_socket_t, short, void* self) { static_cast<StepQueue*>(self)->run(); }, this);
}

void StepQueue::wake_soon() {
  if (will_wake_) return;
  will_wake_ = true;
  constexpr timeval kAtOnce{};
  wake_.arm(&kAtOnce);
}

void StepQueue::add(Step& step) {
  if (step.is_waiting_) return;
  step.is_waiting_ = true;
  next_.push_back(step);
  wake_soon();
}

void StepQueue::run() {
  will_wake_ = false;
  while (!next_.empty()) due_.push_back(next_.front());
  const auto begin = std::chrono::steady_clock::now();
  while (!due_.empty()) {
    Step& step = due_.front();
    step.cancel();
    step.run_(step.self_);
    if (std::chrono::steady_clock::now() - begin >= kMostOfTurn) break;
  }
  if (!due_.empty() || !next_.empty()) wake_soon();
}

}  // namespace bloomwall::proxy
