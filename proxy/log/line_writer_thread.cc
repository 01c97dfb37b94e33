// The writer's own thread: LineWriter::State::run() and what it calls.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "proxy/log/line_writer_state.h"

namespace bloomwall::proxy {
namespace {

constexpr int kWritesAPass = 64;  // then requests get their turn

}  // namespace

void LineWriter::State::run() {
  for (;;) {
    const Requests requests = take_requests();
    const Pass pass = drain();
    if (requests.reopen_target) reopen_now(*requests.reopen_target);
    confirm_flush();
    if (requests.stop) break;
    watch_trouble(pass);
    sleep_after(pass);
  }
  count_lost_lines();
  const std::lock_guard lock(mutex);
  ended = true;
  changed.notify_all();
}

LineWriter::State::Requests LineWriter::State::take_requests() {
  const std::lock_guard lock(mutex);
  look_for_rings();
  if (flush_wanted > flush_marked) {
    flush_marked = flush_wanted;
    flush_marks.clear();
    for (const ByteRing* ring : known) flush_marks.push_back(ring->pushed());
  }
  return {std::exchange(reopen_target, std::nullopt), stopping};
}

void LineWriter::State::look_for_rings() {
  while (known.size() < rings.size()) known.push_back(&rings[known.size()].ring);
}

LineWriter::State::Waiting LineWriter::State::look() const {
  Waiting waiting;
  for (std::size_t i = 0; i < known.size() && waiting.pieces.size() + 2 <= OutputFile::kMostPieces; ++i) {
    const std::size_t owner = (first + i) % known.size();
    for (const std::string_view piece : known[owner]->readable()) {
      if (piece.empty()) continue;
      waiting.pieces.push_back(piece);
      waiting.owners.push_back(owner);
    }
  }
  return waiting;
}

LineWriter::State::Pass LineWriter::State::drain() {
  Pass pass = Pass::nothing;
  for (int i = 0; i < kWritesAPass; ++i) {
    const Waiting shown = look();
    if (shown.pieces.empty()) return pass;
    const OutputFile::Written done = file.write(shown.pieces);
    if (done.error != 0) {
      last_error = done.error;
      return done.error == EAGAIN ? Pass::blocked : Pass::failing;
    }
    consume(shown, done.bytes);
    pass = Pass::progress;
  }
  return pass;
}

// By what was shown to the file, not by what stands in the rings now: they have grown since.
void LineWriter::State::consume(const Waiting& shown, std::size_t bytes) {
  std::uint64_t lines = 0;
  for (std::size_t i = 0; bytes > 0; ++i) {
    const std::string_view part = shown.pieces[i].substr(0, bytes);
    lines += static_cast<std::uint64_t>(std::ranges::count(part, '\n'));
    mid_line = part.back() != '\n';
    bytes -= part.size();
    first = mid_line ? shown.owners[i] : (shown.owners[i] + 1) % known.size();
    known[shown.owners[i]]->consume(part.size());  // from here on the producer may write over it
  }
  written.fetch_add(lines, std::memory_order_relaxed);
}

void LineWriter::State::reopen_now(const std::string& target) {
  const auto before = file.identity();
  if (target.empty() || target == file.target()) {
    if (const auto again = file.reopen(); !again) return notice(again.error() + "; writing to the old file goes on");
  } else {
    auto next = OutputFile::open(target);
    if (!next) return notice(fmt::format("{}; writing to {} goes on", next.error(), file.target()));
    file = std::move(*next);
  }
  if (mid_line && file.identity() != before) skip_rest_of_line();  // its beginning is in the old file
}

void LineWriter::State::skip_rest_of_line() {
  std::size_t skipped = 0;
  for (const std::string_view piece : known[first]->readable()) {
    const auto end = piece.find('\n');
    skipped += end == std::string_view::npos ? piece.size() : end + 1;
    if (end != std::string_view::npos) break;
  }
  known[first]->consume(skipped);
  mid_line = false;
  dropped.fetch_add(1, std::memory_order_relaxed);
}

void LineWriter::State::confirm_flush() {
  for (std::size_t i = 0; i < flush_marks.size(); ++i) {
    if (known[i]->consumed() < flush_marks[i]) return;
  }
  const std::lock_guard lock(mutex);
  if (flush_done == flush_marked) return;
  flush_done = flush_marked;
  changed.notify_all();
}

void LineWriter::State::sleep_after(Pass pass) {
  int timeout = static_cast<int>(timing.retry.count());
  if (pass == Pass::progress) timeout = static_cast<int>(timing.gather.count());
  if (pass == Pass::nothing) {
    sleeping.store(true, std::memory_order_seq_cst);
    {  // a ring may have come, or a line, just before that
      const std::lock_guard lock(mutex);
      look_for_rings();
    }
    if (!look().pieces.empty()) {
      timeout = 0;
    } else if (!troubled) {
      timeout = -1;
    }
  }
  std::array<pollfd, 2> events{{{wake_fd, POLLIN, 0}, {file.fd(), POLLOUT, 0}}};
  ::poll(events.data(), pass == Pass::blocked ? 2 : 1, timeout);
  sleeping.store(false, std::memory_order_relaxed);
  std::uint64_t count = 0;
  if ((events[0].revents & POLLIN) != 0 && ::read(wake_fd, &count, sizeof count) < 0) return;
  // While nothing can be written, one "half full" is enough; everybody else would pay a system call for nothing.
  if (pass == Pass::nothing || pass == Pass::progress) hurry.store(false, std::memory_order_relaxed);
}

void LineWriter::State::watch_trouble(Pass pass) {
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t lost = dropped.load(std::memory_order_relaxed);
  if (pass == Pass::failing) {
    last_drop = now;
    begin_trouble(std::generic_category().message(last_error) +
                  "; lines wait in memory, and are dropped when it is full");
  }
  if (lost != dropped_seen) {
    last_drop = now;
    begin_trouble("takes lines too slowly; those that find the queue full are dropped");
    dropped_seen = lost;
  }
  if (troubled && (pass == Pass::nothing || pass == Pass::progress) && now - last_drop >= timing.quiet) {
    troubled = false;
    notice(fmt::format("{}: takes lines again; {} were dropped", file.target(), lost - dropped_before));
  }
}

void LineWriter::State::begin_trouble(const std::string& why) {
  if (std::exchange(troubled, true)) return;
  dropped_before = dropped_seen;
  notice(fmt::format("{}: {}", file.target(), why));
}

// At the end: what still waits will not be written.
void LineWriter::State::count_lost_lines() {
  std::uint64_t lost = 0;
  for (const std::string_view piece : look().pieces)
    lost += static_cast<std::uint64_t>(std::ranges::count(piece, '\n'));
  dropped.fetch_add(lost, std::memory_order_relaxed);
}

}  // namespace bloomwall::proxy
