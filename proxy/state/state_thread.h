// The thread that changes the state: a StateStore, and jobs for it that run one after the other, in the order in which
// they were given. A job may take as long as the disk does; what comes of it the job posts to the loop that asked.
// At most kMostWaiting jobs wait. Those that were taken are done before the destructor returns; where another process
// holds the file, they then fail, or fail from hurry() on, and only the running one may wait for it.
// Threads: post() and hurry() from any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "base/job_thread.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {

class StateThread {
 public:
  static constexpr std::size_t kMostWaiting = 256;
  using Job = std::function<void(StateStore& store)>;

  explicit StateThread(StateStore store);
  StateThread(const StateThread&) = delete;
  StateThread& operator=(const StateThread&) = delete;

  // False: too many wait, and this one is not done.
  bool post(Job job);
  void hurry() { is_in_a_hurry_.store(true, std::memory_order_relaxed); }

 private:
  StateStore store_;  // the thread's
  std::atomic<bool> is_in_a_hurry_{false};
  JobThread thread_;  // last: it uses all of the above
};

}  // namespace bloomwall::proxy
