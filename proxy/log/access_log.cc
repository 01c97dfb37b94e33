// SPDX-License-Identifier: Apache-2.0
#include "proxy/log/access_log.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "proxy/log/line_writer.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

std::atomic<std::uint64_t> next_serial{1};

// The ring that this thread writes to, and the serial number of its log. Serial numbers are never reused, so a ring of
// a destroyed log is recognised.
struct MyRing {
  std::uint64_t serial = 0;
  LineWriter::Ring* ring = nullptr;
};
thread_local MyRing my_ring;

}  // namespace

struct AccessLog::Impl {
  const std::uint64_t serial = next_serial.fetch_add(1);
  LogFrame frame = LogFrame::line;
  std::unique_ptr<LineWriter> writer;  // null: off
  std::mutex mutex;
  std::map<std::thread::id, LineWriter::Ring*>
      rings;  // guarded by mutex; a thread that ends leaves its ring to the next

  LineWriter::Ring* ring_of_this_thread() {
    const std::lock_guard lock(mutex);
    const auto [at, fresh] = rings.try_emplace(std::this_thread::get_id(), nullptr);
    if (fresh) at->second = writer->add_ring();
    return at->second;
  }
};

AccessLog::AccessLog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AccessLog::~AccessLog() = default;

tl::expected<std::unique_ptr<AccessLog>, std::string> AccessLog::open(const conf::AccessLog& settings) {
  auto impl = std::make_unique<Impl>();
  if (settings.file != "off") {
    auto writer = LineWriter::open(settings.file, settings.queue,
                                   [](const std::string& what) { log::warning("access log {}", what); });
    if (!writer) return tl::unexpected("log.access.file: " + writer.error());
    impl->writer = std::move(*writer);
    impl->frame = frame_of(settings.file);
  }
  return std::unique_ptr<AccessLog>(new AccessLog(std::move(impl)));
}

bool AccessLog::enabled() const noexcept { return impl_->writer != nullptr; }
LogFrame AccessLog::frame() const noexcept { return impl_->frame; }

void AccessLog::write(std::string_view line) noexcept {
  if (!enabled()) return;
  if (my_ring.serial != impl_->serial) my_ring = {impl_->serial, impl_->ring_of_this_thread()};
  impl_->writer->push(my_ring.ring, line);
}

void AccessLog::reopen() { reopen({}); }
void AccessLog::reopen(const std::string& target) {
  const bool is_same = target.empty() || frame_of(target) == frame();
  if (enabled() && is_same) impl_->writer->reopen(target);
}

std::uint64_t AccessLog::lines_dropped() const noexcept { return enabled() ? impl_->writer->dropped() : 0; }
std::uint64_t AccessLog::lines_written() const noexcept { return enabled() ? impl_->writer->written() : 0; }
bool AccessLog::flush(std::chrono::milliseconds bound) { return !enabled() || impl_->writer->flush(bound); }
void AccessLog::close(std::chrono::milliseconds bound) {
  if (enabled()) impl_->writer->close(bound);
}

}  // namespace bloomwall::proxy
