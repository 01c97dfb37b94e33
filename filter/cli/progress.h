// What a long command shows on a terminal, and how signals stop it. While a temporary file exists, SIGINT, SIGTERM and
// SIGHUP only request a stop, and SIGPIPE is ignored. Before and after, signals do what they did. A second signal of
// the same kind ends the process at once.
// One at a time in a process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>

#include "base/terminal.h"
#include "filter/builder/builder.h"

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

// "reading 3 MB of 9 MB" on one line of a terminal, which it overwrites; nothing elsewhere.
class ReadProgress {
 public:
  explicit ReadProgress(const Streams& io) : io_(io) {}
  ~ReadProgress();
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;
  void show(std::uint64_t done, std::uint64_t total);

 private:
  const Streams& io_;
  std::chrono::steady_clock::time_point shown_;
  bool is_shown_ = false;
};

// The progress of a build on one line of a terminal, which it overwrites: the file, the speed, the time left, and what
// a streamed build has written. Nothing where messages do not go to a terminal, but for warnings that can't wait.
class BuildProgressLine {
 public:
  explicit BuildProgressLine(const Streams& io) : io_(io) {}
  ~BuildProgressLine() { clear(); }
  BuildProgressLine(const BuildProgressLine&) = delete;
  BuildProgressLine& operator=(const BuildProgressLine&) = delete;
  void show(const BuildProgress& progress);
  void show(const std::string& text);  // as it is, but not more often than ten times a second
  void clear();

 private:
  const Streams& io_;
  BuildPhase phase_ = BuildPhase::finishing;
  std::string name_;                                     // of what is being read
  std::chrono::steady_clock::time_point shown_, begun_;  // since `begun_` it is being read
  bool is_shown_ = false;
};

// "reading ads.txt.zst: 120.0 MB of 1.2 GB (10 %), 60.0 MB/s, 18 s left", after `seconds` of it.
std::string text_of(const BuildProgress& progress, double seconds);

}  // namespace bloomwall::filter
