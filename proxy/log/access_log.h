// The access log: one line a request, written by a thread of its own, so that no disk, pipe or terminal ever blocks an
// event loop. Each calling thread has a ring of settings.queue bytes; a line that finds it full is dropped and counted,
// and the daemon's log says so once. Lines of one thread keep their order; lines of different threads may cross within
// a batch (line_writer.h).
// Threads: write() by any thread, everything else by any one thread at a time. Cost of write(): a copy of the line; a
// system call only where the writer sleeps or the ring is half full. Target: a path, "stdout", "stderr", "journal",
// "syslog" or "off".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "conf/config.h"
#include "proxy/log/log_frame.h"

namespace bloomwall::proxy {

class AccessLog {
 public:
  // The error names key, file and why: "log.access.file: /var/log/x: Permission denied".
  static tl::expected<std::unique_ptr<AccessLog>, std::string> open(const conf::AccessLog& settings);
  ~AccessLog();  // close(one second)
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // False with "off": the caller need not format the line at all.
  bool enabled() const noexcept;
  LogFrame frame() const noexcept;  // of its lines, for its lifetime
  // One whole line, '\n' included. Never blocks, never waits, never throws.
  void write(std::string_view line) noexcept;

  // After the lines written so far: opens the file by its name again (log rotation), or another target. If that fails,
  // the daemon's log says so and the old file stays in use. A log that is "off" stays off; the target is never "off".
  // A target of another frame is for the next process.
  void reopen();
  void reopen(const std::string& target);

  std::uint64_t lines_dropped() const noexcept;  // ring full, or longer than the ring
  std::uint64_t lines_written() const noexcept;
  // Waits until every line written before the call is on its way to the kernel; false where the bound ran out.
  bool flush(std::chrono::milliseconds bound);
  // flush(), then the writer ends. Where the target is stuck it is left behind and its lines count as dropped.
  void close(std::chrono::milliseconds bound);

 private:
  struct Impl;
  explicit AccessLog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bloomwall::proxy
