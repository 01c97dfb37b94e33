// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/interrupt.h"

#include <cstddef>

namespace bloomwall::filter {
namespace {

// What a signal handler may touch.
std::atomic<bool> g_requested = false;
std::atomic<int> g_signal = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void on_stop_signal(int signal) {
  g_signal.store(signal);
  g_requested.store(true);
}

}  // namespace

void Interrupt::begin() {
  if (active_) return;
  active_ = true;
  g_requested.store(false);
  g_signal.store(0);
  struct sigaction action{};
  action.sa_handler = on_stop_signal;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  for (std::size_t i = 0; i < kStopping.size(); ++i) {
    sigaction(kStopping[i], nullptr, &before_[i]);
    // What was ignored (nohup) stays ignored.
    if (before_[i].sa_handler != SIG_IGN) sigaction(kStopping[i], &action, nullptr);
  }
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
}

void Interrupt::end() {
  if (!active_) return;
  active_ = false;
  for (std::size_t i = 0; i < kStopping.size(); ++i) sigaction(kStopping[i], &before_[i], nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
}

void Interrupt::obey() const {
  if (const int signal = g_signal.load(); g_requested.load() && signal != 0) raise(signal);
}

const std::atomic<bool>& Interrupt::requested() const { return g_requested; }

}  // namespace bloomwall::filter
