// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/top_names.h"

#include <algorithm>
#include <utility>

namespace bloomwall::proxy {

void TopNames::count(std::string_view name, std::uint64_t times, std::uint64_t error) {
  name = name.substr(0, kLongestName);
  if (name.empty()) return;
  if (const auto at = places_.find(name); at != places_.end()) {
    counts_[at->second] += times;
    errors_[at->second] += error;
    return;
  }
  if (names_.size() < kMost) {
    const auto made = places_.emplace(name, names_.size()).first;
    names_.push_back(&made->first);
    counts_.push_back(times);
    errors_.push_back(error);
    return;
  }
  const auto place = static_cast<std::size_t>(std::ranges::min_element(counts_) - counts_.begin());
  places_.erase(*names_[place]);
  names_[place] = &places_.emplace(name, place).first->first;
  errors_[place] = counts_[place] + error;
  counts_[place] += times;
}

void TopNames::add(const TopNames& other) {
  for (const Row& row : other.rows()) count(row.name, row.count, row.error);
}

std::vector<TopNames::Row> TopNames::rows(std::size_t most) const {
  std::vector<Row> rows;
  rows.reserve(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i) rows.push_back({*names_[i], counts_[i], errors_[i]});
  std::ranges::sort(
      rows, [](const Row& a, const Row& b) { return a.count != b.count ? a.count > b.count : a.name < b.name; });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

void BlockedTops::add(const BlockedTops& other) {
  hosts.add(other.hosts);
  filters.add(other.filters);
  groups.add(other.groups);
  clients.add(other.clients);
}

}  // namespace bloomwall::proxy
