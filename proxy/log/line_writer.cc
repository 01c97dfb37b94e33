// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/line_writer.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "proxy/log/line_writer_state.h"

namespace bloomwall::proxy {
namespace {

int make_wake_fd() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return fd;
}

}  // namespace

LineWriter::State::State(OutputFile output, std::size_t bytes, Notice tell, Timing times)
    : ring_bytes(bytes),
      notice(std::move(tell)),
      timing(times),
      journal(output.is_journal()),
      wake_fd(make_wake_fd()),
      file(std::move(output)) {}

LineWriter::State::~State() { ::close(wake_fd); }

void LineWriter::State::wake() noexcept {
  const std::uint64_t one = 1;
  // Fails only where the counter is full of wake-ups already.
  [[maybe_unused]] const auto written_bytes = ::write(wake_fd, &one, sizeof one);
}

LineWriter::LineWriter(std::shared_ptr<State> state) : state_(std::move(state)) {
  // The thread inherits a mask that blocks all but its own faults: signals belong to the main thread, EPIPE must not kill.
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
