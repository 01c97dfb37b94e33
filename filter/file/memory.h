// Memory of a build: how much it may take, an account of what it has taken, and large anonymous mappings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "filter/result.h"

namespace bloomwall::filter {

// Zeroed anonymous memory, in huge pages where the kernel gives them: random writes to it cost a third of those to
// small pages. Pages that are never touched take no memory.
class AnonymousMemory {
 public:
  AnonymousMemory() = default;
  static Result<AnonymousMemory> make(std::uint64_t bytes) {
    constexpr std::uint64_t kHuge = std::uint64_t{2} << 20;
    AnonymousMemory out;
    if (bytes == 0) return out;
    // The kernel uses huge pages for aligned ranges only.
    const std::uint64_t mapped = bytes >= kHuge ? bytes + kHuge : bytes;
    void* const at = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return system_error("memory", "reserve");
    out.mapped_ = {static_cast<std::byte*>(at), mapped};
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    const std::uint64_t skip = bytes >= kHuge ? (kHuge - address % kHuge) % kHuge : 0;
    out.bytes_ = out.mapped_.subspan(skip, bytes);
    if (bytes >= kHuge) madvise(out.bytes_.data(), out.bytes_.size(), MADV_HUGEPAGE);
    return out;
  }
  AnonymousMemory(AnonymousMemory&& other) noexcept
      : mapped_(std::exchange(other.mapped_, {})), bytes_(std::exchange(other.bytes_, {})) {}
  AnonymousMemory& operator=(AnonymousMemory&& other) noexcept {
    std::swap(mapped_, other.mapped_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~AnonymousMemory() {
    if (!mapped_.empty()) munmap(mapped_.data(), mapped_.size());
  }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> mapped_, bytes_;
};

// Bytes this process could still use: what the kernel calls available, or less where a control group allows less.
std::uint64_t available_ram();
// That, less a reserve of an eighth (at least 64 MiB) for the page cache that the filter is written through.
std::uint64_t default_ram_budget();

// An account of memory. Tables ask before they grow, so that a build that does not fit ends with an error message
// instead of the kernel's out-of-memory killer. Thread-safe.
class RamBudget {
 public:
  explicit RamBudget(std::uint64_t bytes) : total_(bytes), left_(static_cast<std::int64_t>(bytes)) {}
  bool take(std::uint64_t bytes) {  // false: nothing was taken
    if (left_.fetch_sub(static_cast<std::int64_t>(bytes)) >= static_cast<std::int64_t>(bytes)) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::uint64_t bytes) { left_.fetch_add(static_cast<std::int64_t>(bytes)); }
  std::uint64_t total() const { return total_; }

 private:
  std::uint64_t total_;
  std::atomic<std::int64_t> left_;
};

}  // namespace bloomwall::filter
