// SPDX-License-Identifier: Apache-2.0

#include "filter/file/mapped_pages.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace bloomwall::filter {

// begin is 0 where the slot is free, 1 while it is being filled. It is written last when a slot is taken and first when
// it is given back, before the mapping goes: a slot with a begin describes memory that is mapped.
struct BusGuard::Slot {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<std::atomic<bool>*> lost{nullptr};
};

struct BusGuardAccess {
  static std::array<BusGuard::Slot, kMaxGuardedMappings> slots;
};
constinit std::array<BusGuard::Slot, kMaxGuardedMappings> BusGuardAccess::slots{};

namespace {

constexpr std::uintptr_t kFilling = 1;
struct sigaction previous_action;  // written once, before the handler can run

// From the handler: only system calls and lock-free atomics. The raw call, because a wrapper may be a sanitizer's.
bool replace_by_zeros(std::uintptr_t from, std::uintptr_t end) {
  const long at =
      syscall(SYS_mmap, from, end - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return at == static_cast<long>(from);
}

bool handle(std::uintptr_t address) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (auto& slot : BusGuardAccess::slots) {
    const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    if (begin <= kFilling || address < begin) continue;
    const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
    std::atomic<bool>* const lost = slot.lost.load(std::memory_order_acquire);
    const bool unchanged = slot.begin.load(std::memory_order_acquire) == begin;
    if (!unchanged || address >= end) continue;
    lost->store(true, std::memory_order_release);
    return replace_by_zeros(address & ~(page - 1), end);
  }
  return false;
}

// A fault that is not ours. Returning with the default action in place repeats the fault, which then ends the process.
void chain(int signal, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    struct sigaction by_default{};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
    if (info->si_code <= 0) raise(signal);  // sent by kill(): nothing repeats it
  }
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool from_memory = info->si_code > 0;
  if (!from_memory || !handle(reinterpret_cast<std::uintptr_t>(info->si_addr))) chain(signal, info, context);
  errno = saved;
}

void install_once() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    sigaction(SIGBUS, nullptr, &previous_action);
    struct sigaction action{};
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, nullptr);
  });
}

}  // namespace

BusGuard::BusGuard(const void* address, std::size_t bytes) {
  install_once();
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (Slot& slot : BusGuardAccess::slots) {
    std::uintptr_t free = 0;
    if (!slot.begin.compare_exchange_strong(free, kFilling, std::memory_order_acq_rel)) continue;
    slot.end.store(begin + bytes, std::memory_order_release);
    slot.lost.store(&lost_, std::memory_order_release);
    slot.begin.store(begin, std::memory_order_release);
    slot_ = &slot;
    return;
  }
}

BusGuard::~BusGuard() {
  if (slot_ != nullptr) slot_->begin.store(0, std::memory_order_release);
}

}  // namespace bloomwall::filter
