// Turns SIGBUS inside a registered mapping into a flag: the file shrank, or its disk failed, while it was mapped. The
// rest of the mapping, from the page of the fault on, is replaced by zero pages, so that the faulting read goes on.
// Faults anywhere else go to the handler that was there before (or end the process, as without us).
// Threads: everything here may be called at once from any of them. The handler takes no lock and allocates nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

namespace bloomwall::filter {

inline constexpr std::size_t kMaxGuardedMappings = 4096;

// Installs the handler (once per process) and registers [address, address + bytes) for its lifetime. Construct after
// mmap, destroy before munmap.
class BusGuard {
 public:
  BusGuard(const void* address, std::size_t bytes);
  ~BusGuard();
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;

  bool guarded() const { return slot_ != nullptr; }  // false: kMaxGuardedMappings are registered already
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  void mark_lost() const { lost_.store(true, std::memory_order_release); }  // for reasons that raise no signal

 private:
  struct Slot;
  friend struct BusGuardAccess;
  Slot* slot_ = nullptr;
  mutable std::atomic<bool> lost_ = false;
};

}  // namespace bloomwall::filter
