// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/reloader.h"

#include <utility>

namespace bloomwall::proxy {

Reloader::Reloader(Work work) : work_(std::move(work)), thread_([this] { run(); }) {}

Reloader::~Reloader() {
  stop(std::chrono::milliseconds(0));
  thread_.join();
}

bool Reloader::stop(std::chrono::milliseconds bound) {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wanted_.notify_all();
  return over_.wait_for(lock, bound, [this] { return ended_; });
}

void Reloader::request(Done done) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(done));
  }
  wanted_.notify_all();
}

void Reloader::run() {
  for (;;) {
    std::vector<Done> asked;
    {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) {
        ended_ = true;
        return over_.notify_all();
      }
      asked = std::exchange(waiting_, {});
    }
    const ReloadOutcome outcome =
        stopping_ ? ReloadOutcome{2, {}, {"bloomwall is stopping"}} : work_(generation_ + 1, stopping_);
    if (outcome.ok()) ++generation_;
    for (const Done& done : asked) {
      if (done) done(outcome);
    }
  }
}

}  // namespace bloomwall::proxy
