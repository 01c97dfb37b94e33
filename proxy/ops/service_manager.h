// Reports the state of the process to systemd (sd_notify(3)): started, reloading, stopping, busy, alive. Without
// NOTIFY_SOCKET in the environment every call does nothing. Each call sends one datagram and blocks while systemd does
// not read, so no worker calls it. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace bloomwall::proxy {

class ServiceManager {
 public:
  void ready(const std::string& status);      // after the start, and after each reload
  void reloading(const std::string& status);  // RELOADING=1 with MONOTONIC_USEC, as Type=notify-reload wants it too
  void stopping(const std::string& status);
  void status(const std::string& text);
  // Something that takes long is still going on: the next limit of starting, reloading or stopping is `more` from now.
  void extend(std::chrono::milliseconds more);

  // How often alive() must come (half of WatchdogSec=); nothing without a watchdog.
  static std::optional<std::chrono::milliseconds> watchdog_interval();
  void alive();
};

}  // namespace bloomwall::proxy
