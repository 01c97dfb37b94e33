// Reports the state of the process to systemd (sd_notify(3)): started, reloading, stopping, busy, alive. Without
// NOTIFY_SOCKET in the environment every call does nothing. Each call sends one datagram and blocks while systemd does
// not read, so no worker calls it. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/io/endpoint.h"

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

// Listening sockets that the service manager opened for us (socket activation, sd_listen_fds(3)): clients that connect
// while the proxy starts or restarts wait instead of being refused, and ports below 1024 need no privilege of ours.
// Error: one line, about a descriptor that is no listening TCP socket. Call it once, before there are threads: it
// removes the variables from the environment, so that child processes do not take the sockets for theirs.

tl::expected<std::vector<ListeningSocket>, std::string> passed_sockets();

}  // namespace bloomwall::proxy
