// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/line_writer.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/handles.h"
#include "proxy/log/byte_ring.h"
#include "proxy/log/output_file.h"

namespace bloomwall::proxy {
namespace {

UniqueFd make_wake_fd() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) throw std::system_error(errno, std::generic_category(), "eventfd");
  return fd;
}

constexpr int kWritesAPass = 64;  // then requests get their turn

// Counted by blocks in 8 bits each, which compilers turn into vector code.
std::uint64_t count_lines(std::string_view text) {
  constexpr std::size_t kBlock = 255;
  std::uint64_t lines = 0;
  for (; !text.empty(); text.remove_prefix(std::min(kBlock, text.size()))) {
    std::uint8_t here = 0;
    for (const char c : text.substr(0, kBlock)) here = static_cast<std::uint8_t>(here + (c == '\n' ? 1 : 0));
    lines += here;
  }
  return lines;
}

}  // namespace

class LineWriter::Ring {
 public:
  explicit Ring(std::size_t bytes) : ring(bytes) {}
  ByteRing ring;
};

// State that the writer's thread shares with the pushing threads.
struct LineWriter::State {
  State(OutputFile output, std::size_t bytes, Notice tell, Timing times);

  // Any thread.
  void wake() noexcept;
  void run();  // the writer's thread

  const std::size_t ring_bytes;
  const Notice notice;
  const Timing timing;
  const bool journal;
  const UniqueFd wake_fd;
  std::atomic<bool> sleeping{false};  // the next push must wake the writer
  std::atomic<bool> hurry{false};     // a ring is half full and the writer knows
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> written{0};

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<Ring> rings;  // grows only; addresses stay
  std::optional<std::string> reopen_target;
  std::uint64_t flush_wanted = 0, flush_done = 0;
  bool stopping = false, ended = false;

 private:
  enum class DrainResult : std::uint8_t { nothing, progress, blocked, failing };
  struct Requests {
    std::optional<std::string> reopen_target;
    bool stop = false;
  };
  Requests take_requests();
  void look_for_rings();  // mutex held
  DrainResult drain();
  // The pending octets of the ring whose turn it is; the rest of a partly written line is always the first piece.
  struct Waiting {
    std::vector<std::string_view> pieces;
    std::vector<std::size_t> owners;  // index in `known` for each piece
  };
  Waiting look() const;
  void consume(const Waiting& shown, std::size_t bytes);
  void reopen_now(const std::string& target);
  void skip_rest_of_line();
  void confirm_flush();
  void count_lost_lines();
  void sleep_after(DrainResult result);
  void watch_trouble(DrainResult result);
  void begin_trouble(const std::string& why);

  // Used by the writer's thread only.
  OutputFile file;
  std::vector<ByteRing*> known;  // the rings, as of the last look
  std::size_t first = 0;         // index in `known` of the ring to go on with
  bool mid_line = false;         // that ring's line is half written
  std::vector<std::uint64_t> flush_marks;
  std::uint64_t flush_marked = 0;
  bool troubled = false;
  std::uint64_t dropped_seen = 0, dropped_before = 0;
  std::chrono::steady_clock::time_point last_drop;
  int last_error = 0;
};

LineWriter::State::State(OutputFile output, std::size_t bytes, Notice tell, Timing times)
    : ring_bytes(bytes),
      notice(std::move(tell)),
      timing(times),
      journal(output.is_journal()),
      wake_fd(make_wake_fd()),
      file(std::move(output)) {}

void LineWriter::State::wake() noexcept {
  const std::uint64_t one = 1;
  // Fails only where the counter is full of wake-ups already.
  [[maybe_unused]] const auto written_bytes = ::write(wake_fd.get(), &one, sizeof one);
}

void LineWriter::State::run() {
  for (;;) {
    const Requests requests = take_requests();
    const DrainResult result = drain();
    if (requests.reopen_target) reopen_now(*requests.reopen_target);
    confirm_flush();
    if (requests.stop) break;
    watch_trouble(result);
    sleep_after(result);
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

LineWriter::State::DrainResult LineWriter::State::drain() {
  DrainResult result = DrainResult::nothing;
  for (int i = 0; i < kWritesAPass; ++i) {
    const Waiting shown = look();
    if (shown.pieces.empty()) return result;
    const OutputFile::Written done = file.write(shown.pieces);
    if (done.error != 0) {
      last_error = done.error;
      return done.error == EAGAIN ? DrainResult::blocked : DrainResult::failing;
    }
    consume(shown, done.bytes);
    result = DrainResult::progress;
  }
  return result;
}

// By what was shown to the file, not by what stands in the rings now: they have grown since.
void LineWriter::State::consume(const Waiting& shown, std::size_t bytes) {
  std::uint64_t lines = 0;
  for (std::size_t i = 0; bytes > 0; ++i) {
    const std::string_view part = shown.pieces[i].substr(0, bytes);
    lines += count_lines(part);
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

void LineWriter::State::sleep_after(DrainResult result) {
  int timeout = static_cast<int>(timing.retry.count());
  if (result == DrainResult::progress) timeout = static_cast<int>(timing.gather.count());
  if (result == DrainResult::nothing) {
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
  std::array<pollfd, 2> events{{{wake_fd.get(), POLLIN, 0}, {file.fd(), POLLOUT, 0}}};
  ::poll(events.data(), result == DrainResult::blocked ? 2 : 1, timeout);
  sleeping.store(false, std::memory_order_relaxed);
  std::uint64_t count = 0;
  if ((events[0].revents & POLLIN) != 0 && ::read(wake_fd.get(), &count, sizeof count) < 0) return;
  // While nothing can be written, one "half full" wake-up is enough; more would only cost the pushing threads system
  // calls.
  if (result == DrainResult::nothing || result == DrainResult::progress) hurry.store(false, std::memory_order_relaxed);
}

void LineWriter::State::watch_trouble(DrainResult result) {
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t lost = dropped.load(std::memory_order_relaxed);
  if (result == DrainResult::failing) {
    last_drop = now;
    begin_trouble(std::generic_category().message(last_error) +
                  "; lines wait in memory, and are dropped when it is full");
  }
  if (lost != dropped_seen) {
    last_drop = now;
    begin_trouble("accepts lines too slowly; lines are dropped while the queue is full");
    dropped_seen = lost;
  }
  if (troubled && (result == DrainResult::nothing || result == DrainResult::progress) &&
      now - last_drop >= timing.quiet) {
    troubled = false;
    notice(fmt::format("{}: accepts lines again; {} were dropped", file.target(), lost - dropped_before));
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
  for (const std::string_view piece : look().pieces) lost += count_lines(piece);
  dropped.fetch_add(lost, std::memory_order_relaxed);
}

LineWriter::LineWriter(std::shared_ptr<State> state) : state_(std::move(state)) {
  // The new thread inherits this mask: all signals are blocked (the main thread handles them; SIGPIPE must not end the
  // process) but those that an error of the thread itself raises.
  sigset_t all, before;
  ::sigfillset(&all);
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) ::sigdelset(&all, fault);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = state_] { shared->run(); }).detach();  // close() waits for `ended`
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

tl::expected<std::unique_ptr<LineWriter>, std::string> LineWriter::open(const std::string& target,
                                                                        std::size_t ring_bytes, Notice notice,
                                                                        Timing timing) {
  auto file = OutputFile::open(target);
  if (!file) return tl::unexpected(file.error());
  auto state = std::make_shared<State>(std::move(*file), ring_bytes, std::move(notice), timing);
  return std::unique_ptr<LineWriter>(new LineWriter(std::move(state)));
}

LineWriter::~LineWriter() { close(std::chrono::seconds(1)); }

LineWriter::Ring* LineWriter::add_ring() noexcept {
  try {
    const std::lock_guard lock(state_->mutex);
    if (state_->rings.size() >= kMostRings) return nullptr;
    return &state_->rings.emplace_back(state_->ring_bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void LineWriter::push(Ring* ring, std::string_view line) noexcept {
  State& state = *state_;
  if (ring == nullptr || !ring->ring.push(line)) {
    state.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const bool first_after_a_pause = state.sleeping.load(std::memory_order_seq_cst) && state.sleeping.exchange(false);
  const bool half_full = ring->ring.pushed() - ring->ring.consumed() > ring->ring.capacity() / 2;
  if (first_after_a_pause || (half_full && !state.hurry.exchange(true))) state.wake();
}

bool LineWriter::is_journal() const { return state_->journal; }

void LineWriter::reopen(const std::string& target) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->reopen_target = target;
  }
  state_->wake();
}

bool LineWriter::flush(std::chrono::milliseconds bound) {
  std::unique_lock lock(state_->mutex);
  const std::uint64_t wanted = ++state_->flush_wanted;
  state_->wake();
  return state_->changed.wait_for(lock, bound, [&] { return state_->flush_done >= wanted || state_->ended; }) &&
         state_->flush_done >= wanted;
}

void LineWriter::close(std::chrono::milliseconds bound) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return;
  }
  flush(bound);
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->wake();
  // A write that hangs in the kernel cannot be called back; the thread then keeps its state to itself.
  state_->changed.wait_for(lock, std::chrono::milliseconds(200), [&] { return state_->ended; });
}

std::uint64_t LineWriter::dropped() const noexcept { return state_->dropped.load(std::memory_order_relaxed); }
std::uint64_t LineWriter::written() const noexcept { return state_->written.load(std::memory_order_relaxed); }

}  // namespace bloomwall::proxy
