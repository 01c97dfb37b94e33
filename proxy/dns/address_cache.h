// What names resolved to, for as long as their records said: positive and negative answers, one a name and family.
// Bounded by a number of entries; the one not used for longest goes first. Cost: a hash look-up; allocates on store.
// Knows no network; the clock is a function so that tests can turn its hands. Thread: one, size() from any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "proxy/dns/resolver.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

class AddressCache {
 public:
  static constexpr std::chrono::seconds kLongest{3600};  // even where a record claims more
  static constexpr std::chrono::seconds kNegative{10};   // no such name, no address
  static constexpr std::chrono::seconds kFailure{2};     // servers failed: ask again soon, but not a thousand times

  explicit AddressCache(std::size_t max_entries, Clock clock = monotonic_now);

  const FamilyAnswer* find(std::string_view host, Family family);  // valid until the next store()
  // ttl counts for answers with addresses; 0 is not kept. Others are kept as the constants say.
  void store(std::string_view host, Family family, FamilyAnswer answer, std::chrono::seconds ttl);
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::string key;
    FamilyAnswer answer;
    Milliseconds expires{0};
  };
  using Order = std::list<Entry>;  // most recently used first
  void erase(Order::iterator entry);
  static std::string make_key(std::string_view host, Family family);

  std::size_t max_entries_;
  Clock clock_;
  Order order_;
  std::unordered_map<std::string_view, Order::iterator> index_;  // views of Entry::key
  std::atomic<std::size_t> size_{0};
};

}  // namespace bloomwall::proxy
