// Numbers that one thread writes, with relaxed atomics, and any reads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

// A number that one thread writes and any reads.
class Count {
 public:
  void add(std::uint64_t n = 1) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  void subtract(std::uint64_t n = 1) { add(std::uint64_t{0} - n); }
  void set(std::uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Sums of tables of numbers.
template <std::size_t kSize>
void add_table(std::array<Count, kSize>& into, const std::array<Count, kSize>& from) {
  for (std::size_t i = 0; i < kSize; ++i) into[i].add(from[i].get());
}

// Rows of numbers by a name, such as that of a filter. Only names of which the configuration bounds the number: a row
// is never dropped.
// Threads: count() from one, which takes the lock only for a new name; add(), whose `from` another thread counts in,
// and get() from any.
template <std::size_t kColumns>
class CountsByName {
 public:
  void count(std::string_view name, std::size_t column = 0, std::uint64_t times = 1) { row(name)[column].add(times); }
  void add(const CountsByName& from) {
    const std::scoped_lock lock(from.mutex_);
    for (const auto& [name, cells] : from.rows_) add_table(row(name), *cells);
  }
  std::uint64_t get(std::string_view name, std::size_t column = 0) const {
    const std::scoped_lock lock(mutex_);
    const auto at = rows_.find(name);
    return at == rows_.end() ? 0 : (*at->second)[column].get();
  }

 private:
  using Row = std::array<Count, kColumns>;
  // The thread that counts is the only one that changes rows_, and so may look without the lock.
  Row& row(std::string_view name) {
    if (const auto at = rows_.find(name); at != rows_.end()) return *at->second;
    const std::scoped_lock lock(mutex_);
    return *rows_.emplace(name, std::make_unique<Row>()).first->second;
  }
  mutable std::mutex mutex_;  // held to add a row, and to read from another thread
  std::map<std::string, std::unique_ptr<Row>, std::less<>> rows_;
};

}  // namespace bloomwall::proxy
