// SPDX-License-Identifier: Apache-2.0
#include "filter/cli/build_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "filter/builder/quantity.h"
#include "filter/cli/text.h"

namespace bloomwall::filter {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole < 120) return fmt::format("{} s", whole);
  return whole < 7200 ? fmt::format("{} min", whole / 60) : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string reading_text(const char* verb, const IntakePosition& input, double seconds) {
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
