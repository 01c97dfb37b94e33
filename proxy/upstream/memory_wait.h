// Back-pressure while limits.buffer_memory is nearly spent (BufferPool::has_room()). Octets that the sink does not take
// must be kept, so no more is read than fits the sink's kernel send buffer. While that buffer is full the source is
// paused, and asked again after kWait. A slow reader therefore loses time, not its connection; a source waits for
// memory or for its own sink, whichever comes first, so two connections cannot deadlock.
// One direction of an exchange or a tunnel. Cost: none while there is memory; otherwise a system call a read.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

class MemoryWait {
 public:
  static constexpr std::size_t kLeastRead = std::size_t{4} * 1024;  // octets
  static constexpr Milliseconds kWait{100};

  // `resume` is called with `self` kWait after ration() gave 0.
  MemoryWait(TimerWheel& timers, void (*resume)(void*), void* self) : again_(timers, resume, self) {}

  // How many octets to read, given what the sink's kernel takes. 0: pause the source (PauseReason::no_memory).
  std::size_t ration(std::size_t kernel_room) {
    if (kernel_room >= kLeastRead) return kernel_room;
    again_.set(kWait);
    return 0;
  }
  void end() { again_.clear(); }

 private:
  Timer again_;
};

}  // namespace bloomwall::proxy
