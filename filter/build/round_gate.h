// Where workers meet when memory is full: the one that comes last, when all others that are at work wait or have ended, does
// what has to be done alone, and all go on.
// Whoever waits may do something meanwhile, several times a second: say how far the others are.
// Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace bloomwall::filter {

class RoundGate {
 public:
  using Meanwhile = std::function<void()>;  // called without the lock
  void begin() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !busy_; });
    ++active_;
  }
  void end(const Meanwhile& meanwhile = {}) {
    std::unique_lock lock(mutex_);
    wait_for(lock, meanwhile, [&] { return !busy_; });
    --active_;
    changed_.notify_all();  // those who wait may be all there are now
  }
  // Whether somebody waits; a worker that is asked so between two blocks need not fill its own memory first.
  bool is_wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // Between begin() and end(). Returns when one of the workers has done `work` while all of them waited.
  void wait(const std::function<void()>& work, const Meanwhile& meanwhile = {}) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    wanted_.store(true, std::memory_order_relaxed);
    const std::uint64_t round = round_;
    wait_for(lock, meanwhile, [&] { return round_ != round || (waiting_ == active_ && !busy_); });
    if (round_ != round) return;
    busy_ = true;
    lock.unlock();
    work();
    lock.lock();
    busy_ = false;
    waiting_ = 0;
    wanted_.store(false, std::memory_order_relaxed);
    ++round_;
    changed_.notify_all();
  }

 private:
  template <typename Ready>
  void wait_for(std::unique_lock<std::mutex>& lock, const Meanwhile& meanwhile, Ready ready) {
    constexpr std::chrono::milliseconds kPause{100};
    if (!meanwhile) return changed_.wait(lock, ready);
    while (!changed_.wait_for(lock, kPause, ready)) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned active_ = 0, waiting_ = 0;
  std::uint64_t round_ = 0;
  bool busy_ = false;
  std::atomic<bool> wanted_ = false;
};

}  // namespace bloomwall::filter
