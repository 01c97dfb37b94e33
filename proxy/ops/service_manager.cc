// SPDX-License-Identifier: Apache-2.0

#include "proxy/ops/service_manager.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace bloomwall::proxy {
namespace {

// A line break would begin another assignment.
std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  return text;
}

void notify(const std::string& state) { ::sd_notify(0, state.c_str()); }

std::uint64_t monotonic_microseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

void ServiceManager::ready(const std::string& status) { notify("READY=1\nSTATUS=" + one_line(status)); }

void ServiceManager::reloading(const std::string& status) {
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS={}", monotonic_microseconds(), one_line(status)));
}

void ServiceManager::stopping(const std::string& status) { notify("STOPPING=1\nSTATUS=" + one_line(status)); }

void ServiceManager::status(const std::string& text) { notify("STATUS=" + one_line(text)); }

void ServiceManager::extend(std::chrono::milliseconds more) {
  notify(fmt::format("EXTEND_TIMEOUT_USEC={}", std::chrono::microseconds(more).count()));
}

std::optional<std::chrono::milliseconds> ServiceManager::watchdog_interval() {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  return std::chrono::milliseconds(std::max<std::uint64_t>(microseconds / 2000, 1));
}

void ServiceManager::alive() { notify("WATCHDOG=1"); }

tl::expected<std::vector<ListeningSocket>, std::string> passed_sockets() {
  const int count = sd_listen_fds(1);
  if (count < 0) return tl::unexpected(fmt::format("LISTEN_FDS: {}", std::strerror(-count)));
  std::vector<ListeningSocket> sockets;
  for (int i = 0; i < count; ++i) {
    const int fd = SD_LISTEN_FDS_START + i;
    auto socket = take_over(UniqueFd(fd));
    if (!socket) {
      return tl::unexpected(fmt::format("descriptor {}, passed by the service manager: {}", fd, socket.error()));
    }
    sockets.push_back(*std::move(socket));
  }
  return sockets;
}

}  // namespace bloomwall::proxy
