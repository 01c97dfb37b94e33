// A bounded map that forgets what was used least recently. Each call is constant on average; add() and put() allocate.
// With a transparent hash, lookups take whatever it takes. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace bloomwall {

template <typename Key, typename Value, typename Hash = std::hash<Key>, typename Equal = std::equal_to<>>
class RecentMap {
 public:
  explicit RecentMap(std::size_t most) : most_(most) {}

  // The value, which is the most recently used one from here on; nullptr where there is none. Valid while it is kept.
  template <typename Lookup>
  Value* find(const Lookup& key) {
    const auto at = places_.find(key);
    if (at == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return &at->second->second;
  }
  // Likewise, and it does not count as use.
  template <typename Lookup>
  const Value* peek(const Lookup& key) const {
    const auto at = places_.find(key);
    return at == places_.end() ? nullptr : &at->second->second;
  }
  // Replaces what was under the key.
  Value& put(Key key, Value value) {
    if (Value* const there = find(key)) return *there = std::move(value);
    order_.emplace_front(key, std::move(value));
    places_.emplace(std::move(key), order_.begin());
    shrink();
    return order_.front().second;
  }
  template <typename Lookup>
  void erase(const Lookup& key) {
    const auto at = places_.find(key);
    if (at == places_.end()) return;
    order_.erase(at->second);
    places_.erase(at);
  }
  void clear() {
    order_.clear();
    places_.clear();
  }
  void set_most(std::size_t most) {
    most_ = most;
    shrink();
  }
  std::size_t size() const { return order_.size(); }
  const std::list<std::pair<Key, Value>>& all() const { return order_; }  // the most recently used first

 private:
  void shrink() {  // the newest one stays, whatever the bound
    while (order_.size() > most_ && order_.size() > 1) {
      places_.erase(order_.back().first);
      order_.pop_back();
    }
  }

  std::size_t most_;
  std::list<std::pair<Key, Value>> order_;
  std::unordered_map<Key, typename std::list<std::pair<Key, Value>>::iterator, Hash, Equal> places_;
};

}  // namespace bloomwall
