// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/state_thread.h"

#include <utility>

namespace bloomwall::proxy {

StateThread::StateThread(StateStore store)
    : store_(std::move(store)), thread_(kMostWaiting, JobThread::AtEnd::finish) {}

bool StateThread::post(Job job) {
  return thread_.post([this, job = std::move(job)](const std::stop_token& stop) {
    if (stop.stop_requested() || is_in_a_hurry_.load(std::memory_order_relaxed)) store_.wait_for_nobody();
    job(store_);
  });
}

}  // namespace bloomwall::proxy
