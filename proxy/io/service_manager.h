// Reports the state of the process to systemd (sd_notify(3)): started, reloading, stopping, busy, alive. Without
// NOTIFY_SOCKET in the environment every call does nothing. Each call sends one datagram and blocks while systemd does
// not read, so no worker calls it. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
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

  // systemd listens to the main process alone. Of the whole process: nothing is sent until speak(); both are for any
  // thread.
  static void be_silent();
  static void speak();
  // Makes a child the main process, and then stays silent.
  static void hand_over(pid_t child);
};

// Descriptors that the parent process gave us (LISTEN_FDS, sd_listen_fds(3)), told by their names (LISTEN_FDNAMES):
//   any other         of the service manager (socket activation): clients that connect while the proxy starts or
//                     restarts wait instead of being refused, and ports below 1024 need no privilege of ours
//   kPassed...        of a process of ours that this one takes over from (successor.h)
inline constexpr const char* kPassedListener = "upgrade.listener";  // these two: clients come to it
inline constexpr const char* kPassedKept = "upgrade.kept";          // the service manager has it, too
inline constexpr const char* kPassedAdmin = "upgrade.admin";        // admin.address
inline constexpr const char* kPassedControl = "upgrade.control";    // admin.control_socket
inline constexpr const char* kPassedChannel = "upgrade.channel";    // to that process
inline constexpr const char* kPassedErrors = "upgrade.errors";      // what is stderr once we can say what is wrong

struct PassedSockets {
  std::vector<ListeningSocket> listeners;
  std::optional<ListeningSocket> admin;
  UniqueFd control;
  std::filesystem::path control_path;  // at which it listens
  UniqueFd channel, errors;
  bool is_upgrade() const { return static_cast<bool>(channel); }
};
// Error: one line, about a descriptor that is no listening socket. Call it once, before there are threads: it removes
// the variables from the environment, so that child processes do not take the sockets for theirs.
tl::expected<PassedSockets, std::string> passed_sockets();

}  // namespace bloomwall::proxy
