// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/state_thread.h"

#include <utility>

namespace bloomwall::proxy {

StateThread::StateThread(StateStore store)
    : store_(std::move(store)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

StateThread::~StateThread() {
  thread_.request_stop();
  thread_.join();
}

bool StateThread::post(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back(std::move(job));
  }
  wanted_.notify_one();
  return true;
}

void StateThread::run(const std::stop_token& stop) {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (!wanted_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (stop.stop_requested() || is_in_a_hurry_.load(std::memory_order_relaxed)) store_.wait_for_nobody();
    job(store_);
  }
}

}  // namespace bloomwall::proxy
