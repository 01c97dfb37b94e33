// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/reloader.h"

#include <utility>

namespace bloomwall::proxy {

Reloader::Reloader(Work work) : work_(std::move(work)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

bool Reloader::stop(std::chrono::milliseconds bound) {
  thread_.request_stop();
  std::unique_lock lock(mutex_);
  return over_.wait_for(lock, bound, [this] { return ended_; });
}

void Reloader::request(Done done) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
  }
  wanted_.notify_all();
}

void Reloader::run(const std::stop_token& stop) {
  for (;;) {
    std::vector<Done> asked;
    {
      std::unique_lock lock(mutex_);
      if (!wanted_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
        ended_ = true;
        return over_.notify_all();
      }
      asked = std::exchange(waiting_, {});
    }
    const ReloadOutcome outcome =
        stop.stop_requested() ? ReloadOutcome{2, {}, {"bloomwall is stopping"}} : work_(generation_ + 1, stop);
    if (outcome.ok()) ++generation_;
    for (const Done& done : asked) {
      if (done) done(outcome);
    }
  }
}

}  // namespace bloomwall::proxy
