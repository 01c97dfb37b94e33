// The names that were counted most, in bounded memory: the space-saving algorithm. While there are at most kMost names,
// every count is exact. A further name takes the place of the one with the least count, and begins with that count,
// which is its `error`: the true count is between count - error and count. Whatever makes up more than one in kMost of
// all that was counted is among the names.
// Source: Metwally, Agrawal, El Abbadi: Efficient computation of frequent and top-k elements in data streams, 2005.
// add() of another one keeps that, except that a name that the other one has lost may be short by its least count.
// Cost of count(): a look-up; for a new name where it is full, a pass over kMost numbers (below 1 us). Names are cut at
// kLongestName. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bloomwall::proxy {

class TopNames {
 public:
  static constexpr std::size_t kMost = 1000;
  static constexpr std::size_t kLongestName = 255;
  struct Row {
    std::string name;
    std::uint64_t count = 0, error = 0;
    friend bool operator==(const Row&, const Row&) = default;
  };

  void count(std::string_view name, std::uint64_t times = 1, std::uint64_t error = 0);  // nothing for an empty name
  void add(const TopNames& other);
  bool empty() const { return names_.empty(); }
  std::vector<Row> rows(std::size_t most = kMost) const;  // the largest count first, equal ones by name

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  // By place: apart from the names, as the least is looked for among all of them.
  std::vector<std::uint64_t> counts_, errors_;
  std::vector<const std::string*> names_;  // keys of places_
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> places_;
};

// Of requests that were blocked.
struct BlockedTops {
  TopNames hosts, filters, groups, clients;
  bool empty() const { return hosts.empty() && filters.empty() && groups.empty() && clients.empty(); }
  void add(const BlockedTops& other);
};

}  // namespace bloomwall::proxy
