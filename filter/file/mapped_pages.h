// What MappedFile is made of: pages of the system, which of them have been read, and reads of pages that fail (SIGBUS).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

namespace bloomwall::filter {

// Turns SIGBUS inside a registered mapping into a flag: the file shrank, or its disk failed, while it was mapped. The
// rest of the mapping, from the page of the fault on, is replaced by zero pages, so that the faulting read goes on.
// Faults anywhere else go to the handler that was there before (or end the process, as without us).
// Threads: everything here may be called at once from any of them. The handler takes no lock and allocates nothing.

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

// The page of the kernel's memory management: what madvise() and friends want addresses to be multiples of. 4 KiB on
// most machines, 16 or 64 KiB on others; never to be taken for kPageBytes, which is the page of the file format.

inline std::size_t system_page() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// The range, from the begin of the system's page in which it begins: for advice to the kernel.
inline std::span<std::byte> system_pages_of(std::span<const std::byte> range) {
  const std::size_t before = reinterpret_cast<std::uintptr_t>(range.data()) % system_page();
  return {const_cast<std::byte*>(range.data() - before), range.size() + before};
}

// Records which pages of a mapped file have been read once, for file systems that can't report residency (tmpfs, ZFS,
// NFS: no preadv2 with RWF_NOWAIT). Without it every look-up in a page would wait for the page reader again.
// One bit a page, allocated with the first mark. Any thread; neither call blocks.
class AwaitedPages {
 public:
  explicit AwaitedPages(std::size_t file_bytes) : words_((file_bytes / system_page() + kBits) / kBits) {}

  void mark(std::size_t offset) {
    std::call_once(once_, [this] { bits_.store(new Word[words_](), std::memory_order_release); });
    const Place place = place_of(offset);
    bits_.load(std::memory_order_acquire)[place.word].fetch_or(place.mask, std::memory_order_release);
  }
  bool has(std::size_t offset) const {
    const Word* const bits = bits_.load(std::memory_order_acquire);
    const Place place = place_of(offset);
    return bits != nullptr && (bits[place.word].load(std::memory_order_acquire) & place.mask) != 0;
  }

  ~AwaitedPages() { delete[] bits_.load(); }
  AwaitedPages(const AwaitedPages&) = delete;
  AwaitedPages& operator=(const AwaitedPages&) = delete;

 private:
  using Word = std::atomic<std::uint64_t>;
  static constexpr std::size_t kBits = 64;
  struct Place {
    std::size_t word;
    std::uint64_t mask;
  };
  static Place place_of(std::size_t offset) {
    const std::size_t page = offset / system_page();
    return {page / kBits, std::uint64_t{1} << (page % kBits)};
  }

  std::size_t words_;
  std::once_flag once_;
  std::atomic<Word*> bits_{nullptr};
};

}  // namespace bloomwall::filter
