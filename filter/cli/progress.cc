// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/terminal.h"
#include "base/units.h"

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

ReadProgress::~ReadProgress() {
  if (is_shown_) io_.err << "\r\x1b[K" << std::flush;
}

void ReadProgress::show(std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (!io_.err_is_terminal || now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  is_shown_ = true;
  io_.err << fmt::format("\r\x1b[Kreading {} of {}", format_bytes(done), format_bytes(total)) << std::flush;
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole < 120) return fmt::format("{} s", whole);
  return whole < 7200 ? fmt::format("{} min", whole / 60) : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string reading_text(const char* verb, const IngestPosition& input, double seconds) {
  if (input.name.empty()) return verb;
  const auto done = static_cast<double>(input.position.done);
  const auto total = static_cast<double>(input.position.total);
  std::string out = fmt::format("{} {}: {}", verb, printable(input.name), format_bytes(input.position.done));
  if (total > 0) out += fmt::format(" of {} ({:.0f} %)", format_bytes(input.position.total), 100 * done / total);
  if (seconds < 1 || done <= 0) return out;
  out += fmt::format(", {}/s", format_bytes(static_cast<std::uint64_t>(done / seconds)));
  if (total > done) out += fmt::format(", {} left", duration_text((total - done) / done * seconds));
  return out;
}

std::string stream_text(const KeyStream::Figures& stream) {
  if (stream.rounds == 0 && !stream.in_round) return {};
  const std::string written = format_bytes(stream.bytes_written) + " written";
  if (!stream.in_round)
    return fmt::format("; {} round{} done, {}", stream.rounds, stream.rounds == 1 ? "" : "s", written);
  const double part =
      static_cast<double>(stream.parts_done) / static_cast<double>(std::max<std::uint64_t>(1, stream.parts));
  return fmt::format("; round {}: {:.0f} %, {}", stream.rounds + 1, 100 * part, written);
}

}  // namespace

std::string text_of(const BuildProgress& progress, double seconds) {
  switch (progress.phase) {
    case BuildPhase::reading:
      return reading_text("reading", progress.input, seconds);
    case BuildPhase::estimating:
      return reading_text("counting", progress.input, seconds);
    case BuildPhase::streaming:
      return reading_text("reading", progress.input, seconds) + stream_text(progress.stream);
    case BuildPhase::writing:
      return "writing" + stream_text(progress.stream);
    case BuildPhase::finishing:
      return "digests and sync";
  }
  return {};
}

void BuildProgressLine::show(const BuildProgress& progress) {
  if (!progress.warning.empty()) {
    clear();
    io_.err << "bloomwall-filter: warning: " << printable(progress.warning) << '\n' << std::flush;
  }
  if (!io_.err_is_terminal) return;
  const bool same = progress.phase == phase_ && progress.input.name == name_;
  if (!same) begun_ = Clock::now();
  phase_ = progress.phase;
  name_ = progress.input.name;
  if (!same) shown_ = {};
  show(text_of(progress, seconds_since(begun_)));
}

void BuildProgressLine::show(const std::string& text) {
  if (!io_.err_is_terminal || seconds_since(shown_) < 0.1) return;
  shown_ = Clock::now();
  io_.err << "\r\x1b[K" << text << std::flush;
  is_shown_ = true;
}

void BuildProgressLine::clear() {
  if (is_shown_) io_.err << "\r\x1b[K" << std::flush;
  is_shown_ = false;
}

}  // namespace bloomwall::filter
