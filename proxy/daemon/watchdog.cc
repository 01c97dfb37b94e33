// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/watchdog.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "proxy/io/service_manager.h"
#include "proxy/log/log.h"
#include "proxy/worker/server.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kWatchTick{1000};
constexpr Milliseconds kStall{5000};  // a loop that has not turned for so long is reported

}  // namespace

Watchdog::Watchdog(EventLoop& loop)
    : tick_(loop.timers(), [](void* self) { static_cast<Watchdog*>(self)->on_tick(); }, this) {
  tick_.set(kWatchTick);
}

void Watchdog::on_tick() {
  const auto interval = ServiceManager::watchdog_interval();
  const Milliseconds silence = server_ == nullptr ? Milliseconds(0) : server_->longest_silence();
  const bool is_stalled = silence >= kStall;
  if (is_stalled && !is_stalled_) log::error("an event loop has been blocked for {} ms", silence.count());
  if (!is_stalled && is_stalled_) log::warning("no event loop is blocked any more");
  is_stalled_ = is_stalled;
  if (interval && silence < *interval) ServiceManager().alive();
  if (server_ != nullptr) give_memory_back();
  tick_.set(interval ? std::min(*interval, kWatchTick) : kWatchTick);
}

// The pools give memory of a peak back themselves (BufferPool); TLS and HTTP/2 have theirs from the allocator.
void Watchdog::give_memory_back() {
  const Gauges gauges = server_->gauges();
  std::uint64_t held = 0;
  for (std::size_t i = 0; i < kBufferKinds; ++i) {
    if (static_cast<BufferKind>(i) != BufferKind::waiting) held += gauges.buffer_kinds[i];
  }
  if (memory_.is_over(held)) ::malloc_trim(0);
}

}  // namespace bloomwall::proxy
