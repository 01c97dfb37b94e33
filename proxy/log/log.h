// The daemon's own log: log::info("reload {} done", n) from any thread. spdlog formats, a writer thread writes; a full
// queue drops the line and counts it, so a stuck terminal or disk never holds up an event loop.
// A line: "2024-05-01T12:34:56.789Z info    text"; where stderr is the journal, "<6>text" instead (it adds the time).
// Control octets in the text are written as \xNN: nothing that came from the network can forge a line.
// Before open_log() and after close_log() lines go straight to stderr.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "conf/config.h"

namespace bloomwall::proxy {

// Once a process, from main. The error names key, file and why.
tl::expected<void, std::string> open_log(const conf::Log& settings);
// Level and file as they are now; the same file is opened again by its name (log rotation). Failure keeps the old one.
void reopen_log(const conf::Log& settings);
bool flush_log(std::chrono::milliseconds bound);
void close_log(std::chrono::milliseconds bound);
std::uint64_t log_lines_dropped();

namespace log {

using Level = conf::Log::Level;
bool wanted(Level level) noexcept;
void write(Level level, std::string_view text) noexcept;

template <typename... Args>
void line(Level level, fmt::format_string<Args...> format, Args&&... args) {
  if (wanted(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::debug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::info, format, std::forward<Args>(args)...);
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::warning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  line(Level::error, format, std::forward<Args>(args)...);
}

}  // namespace log
}  // namespace bloomwall::proxy
