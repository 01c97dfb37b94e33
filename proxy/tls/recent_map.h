// A bounded map that forgets what was used least recently. Each call is logarithmic. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace bloomwall::proxy {

template <typename Key, typename Value>
class RecentMap {
 public:
  explicit RecentMap(std::size_t most) : most_(most) {}

  // The value, which is the most recently used one from here on; null where there is none. Valid until the next call.
  Value* find(const Key& key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return &at->second->second;
  }
  // Replaces what was under the key.
  Value& put(const Key& key, Value value) {
    if (Value* const there = find(key)) return *there = std::move(value);
    order_.emplace_front(key, std::move(value));
    index_.emplace(key, order_.begin());
    shrink();
    return order_.front().second;
  }
  void erase(const Key& key) {
    const auto at = index_.find(key);
    if (at == index_.end()) return;
    order_.erase(at->second);
    index_.erase(at);
  }
  void set_most(std::size_t most) {
    most_ = most;
    shrink();
  }
  std::size_t size() const { return index_.size(); }

 private:
  void shrink() {  // the newest one stays, whatever the bound
    while (index_.size() > most_ && index_.size() > 1) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
  }

  using Order = std::list<std::pair<Key, Value>>;  // the most recently used first
  std::size_t most_;
  Order order_;
  std::map<Key, typename Order::iterator> index_;
};

}  // namespace bloomwall::proxy
