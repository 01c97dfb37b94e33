// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/filter_counts.h"

namespace bloomwall::proxy {

// The thread that counts is the only one that changes rows_, and so may look without the lock.
FilterCounts::Row& FilterCounts::row(std::string_view filter) {
  if (const auto at = rows_.find(filter); at != rows_.end()) return *at->second;
  const std::scoped_lock lock(mutex_);
  return *rows_.emplace(filter, std::make_unique<Row>()).first->second;
}

void FilterCounts::count(std::string_view filter, filter::FilterAction action, std::uint64_t times) {
  auto& cell = row(filter)[static_cast<std::size_t>(action)];
  cell.store(cell.load(std::memory_order_relaxed) + times, std::memory_order_relaxed);
}

void FilterCounts::add(const FilterCounts& from) {
  const std::scoped_lock lock(from.mutex_);
  for (const auto& [name, cells] : from.rows_) {
    for (const auto action : {filter::FilterAction::block, filter::FilterAction::monitor}) {
      count(name, action, (*cells)[static_cast<std::size_t>(action)].load(std::memory_order_relaxed));
    }
  }
}

std::uint64_t FilterCounts::get(std::string_view filter, filter::FilterAction action) const {
  const std::scoped_lock lock(mutex_);
  const auto at = rows_.find(filter);
  return at == rows_.end() ? 0 : (*at->second)[static_cast<std::size_t>(action)].load(std::memory_order_relaxed);
}

}  // namespace bloomwall::proxy
