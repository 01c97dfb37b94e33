// A thread that does jobs one after the other, in the order in which they were given. At most `most_waiting` wait.
//   JobThread thread(16, JobThread::AtEnd::drop);
//   if (!thread.post([](const std::stop_token&) { ... })) ...  // too many wait
// The destructor waits for the job under way, whose stop_token says that it should hurry; those that still wait are
// done first, or dropped: AtEnd.
// Threads: post() from any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace bloomwall {

class JobThread {
 public:
  enum class AtEnd : std::uint8_t { finish, drop };
  using Job = std::function<void(const std::stop_token& stop)>;

  JobThread(std::size_t most_waiting, AtEnd at_end)
      : most_waiting_(most_waiting), at_end_(at_end), thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~JobThread() {
    thread_.request_stop();
    thread_.join();
  }
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // False: too many wait, and this one is not done.
  bool post(Job job) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= most_waiting_) return false;
      waiting_.push_back(std::move(job));
    }
    wanted_.notify_one();
    return true;
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      Job job;
      {
        std::unique_lock lock(mutex_);
        if (!wanted_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
        if (stop.stop_requested() && at_end_ == AtEnd::drop) return;
        job = std::move(waiting_.front());
        waiting_.pop_front();
      }
      job(stop);
    }
  }

  const std::size_t most_waiting_;
  const AtEnd at_end_;
  std::mutex mutex_;
  std::condition_variable_any wanted_;
  std::deque<Job> waiting_;  // guarded by mutex_
  std::jthread thread_;      // last: it uses all of the above
};

}  // namespace bloomwall
