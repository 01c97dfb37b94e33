// How often each filter decided, by its name: bloomwall_filter_verdicts_total{filter,action}. The names are those of
// configured filters, so their number is bounded by the configuration; a count outlives reloads.
// Threads: count() from one, which takes the lock only for a new name; add() and get() from any.
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

#include "filter/policy/policy.h"

namespace bloomwall::proxy {

class FilterCounts {
 public:
  void count(std::string_view filter, filter::FilterAction action, std::uint64_t times = 1);
  void add(const FilterCounts& from);  // the sum over workers
  std::uint64_t get(std::string_view filter, filter::FilterAction action) const;

 private:
  using Row = std::array<std::atomic<std::uint64_t>, filter::kFilterActions>;  // by action
  Row& row(std::string_view filter);

  mutable std::mutex mutex_;  // held to add a row, and to read from another thread
  std::map<std::string, std::unique_ptr<Row>, std::less<>>
      rows_;  // rows are only ever added, by the thread that counts
};

}  // namespace bloomwall::proxy
