// Messages to an event loop from threads that may outlive it.
// Threads: any; close() belongs to the loop's owner, before the loop is destroyed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class LoopMailbox {
 public:
  explicit LoopMailbox(EventLoop& loop) : loop_(&loop) {}
  void post(std::function<void()> message) {
    const std::lock_guard lock(mutex_);
    if (loop_ != nullptr) loop_->post(std::move(message));
  }
  void close() {  // later messages are dropped
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }

 private:
  std::mutex mutex_;
  EventLoop* loop_;  // guarded by mutex_
};

}  // namespace bloomwall::proxy
