// SPDX-License-Identifier: Apache-2.0

#include "proxy/io/service_manager.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "proxy/io/unix_socket.h"

namespace bloomwall::proxy {
namespace {

// A line break would begin another assignment.
std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  return text;
}

std::atomic<bool> is_silent{false};

void notify(const std::string& state) {
  if (!is_silent.load(std::memory_order_relaxed)) ::sd_notify(0, state.c_str());
}

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

void ServiceManager::be_silent() { is_silent = true; }

void ServiceManager::speak() { is_silent = false; }

void ServiceManager::hand_over(pid_t child) {
  notify(fmt::format("MAINPID={}", child));
  be_silent();
}

namespace {

using Taken = tl::expected<void, std::string>;

// A listening TCP socket, which ends with us unless it `is_kept`.
Taken take_listener(UniqueFd fd, bool is_kept, std::vector<ListeningSocket>& out) {
  auto socket = take_over(std::move(fd));
  if (!socket) return tl::unexpected(socket.error());
  socket->is_passed = is_kept;
  out.push_back(*std::move(socket));
  return {};
}

Taken take_passed(UniqueFd fd, std::string_view name, PassedSockets& out) {
  if (name == kPassedChannel || name == kPassedErrors) {
    (name == kPassedChannel ? out.channel : out.errors) = std::move(fd);
    return {};
  }
  if (name == kPassedControl) {
    out.control_path = path_of_listening(fd.get());
    if (out.control_path.empty()) return tl::unexpected(std::string("no unix socket that listens"));
    out.control = std::move(fd);
    return {};
  }
  if (std::string path = name == kPassedListener ? path_of_listening(fd.get()).string() : std::string();
      !path.empty()) {
    out.listeners.push_back({.fd = std::move(fd), .address = {}, .path = std::move(path)});
    return {};
  }
  if (name != kPassedAdmin) return take_listener(std::move(fd), name != kPassedListener, out.listeners);
  std::vector<ListeningSocket> admin;
  Taken taken = take_listener(std::move(fd), false, admin);
  if (taken) out.admin = std::move(admin.front());
  return taken;
}

// As sd_listen_fds_with_names(3) allocates them.
struct Names {
  char** all = nullptr;
  ~Names() {
    for (char** name = all; name != nullptr && *name != nullptr; ++name) std::free(*name);
    std::free(static_cast<void*>(all));
  }
};

}  // namespace

tl::expected<PassedSockets, std::string> passed_sockets() {
  Names names;
  const int count = sd_listen_fds_with_names(1, &names.all);
  if (count < 0) return tl::unexpected(fmt::format("LISTEN_FDS: {}", std::strerror(-count)));
  PassedSockets passed;
  for (int i = 0; i < count; ++i) {
    const int fd = SD_LISTEN_FDS_START + i;
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    const auto taken = take_passed(UniqueFd(fd), names.all[i], passed);
    if (!taken)
      return tl::unexpected(fmt::format("descriptor {}, passed by the service manager: {}", fd, taken.error()));
  }
  return passed;
}

}  // namespace bloomwall::proxy
