// While something half-done lies on disk, SIGINT, SIGTERM and SIGHUP only ask to stop, and a closed pipe is no reason to die.
// Before and after, signals do what they did. A second signal of the same kind ends the process at once.
// One at a time in a process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace bloomwall::filter {

class Interrupt {
 public:
  Interrupt() = default;
  ~Interrupt() { end(); }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void begin();  // once is enough
  void end();    // restores what was before
  // Ends the process as the signal would have, if one came. After end().
  void obey() const;
  const std::atomic<bool>& requested() const;

 private:
  static constexpr std::array<int, 3> kStopping{SIGINT, SIGTERM, SIGHUP};
  bool active_ = false;
  std::array<struct sigaction, kStopping.size()> before_{};
  struct sigaction pipe_before_{};
};

}  // namespace bloomwall::filter
