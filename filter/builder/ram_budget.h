// How much memory a build may take, and the account of what it has taken. Tables ask before they grow, so that a build
// that does not fit ends with a message instead of the kernel's out-of-memory killer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace bloomwall::filter {

// Bytes this process could still use: what the kernel calls available, or less where a control group allows less.
std::uint64_t available_ram();
// That, less a reserve of an eighth (at least 64 MiB) for the page cache that the filter is written through.
std::uint64_t default_ram_budget();

// Thread-safe.
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
