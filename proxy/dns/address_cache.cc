// SPDX-License-Identifier: Apache-2.0
#include "proxy/dns/address_cache.h"

#include <algorithm>
#include <utility>

namespace bloomwall::proxy {
namespace {

std::chrono::seconds lifetime(const FamilyAnswer& answer, std::chrono::seconds ttl) {
  switch (answer.error) {
    case ResolveError::none:
      return std::clamp(ttl, std::chrono::seconds(0), AddressCache::kLongest);
    case ResolveError::no_such_name:
    case ResolveError::no_address:
    case ResolveError::bad_name:
      return AddressCache::kNegative;
    case ResolveError::timed_out:
    case ResolveError::failed:
      return AddressCache::kFailure;
    case ResolveError::overloaded:
      return std::chrono::seconds(0);
  }
  return std::chrono::seconds(0);
}

}  // namespace

AddressCache::AddressCache(std::size_t max_entries, Clock clock) : max_entries_(max_entries), clock_(clock) {}

std::string AddressCache::make_key(std::string_view host, Family family) {
  std::string key(host);
  key.push_back(family == Family::v4 ? '4' : '6');
  return key;
}

const FamilyAnswer* AddressCache::find(std::string_view host, Family family) {
  const auto found = index_.find(make_key(host, family));
  if (found == index_.end()) return nullptr;
  const Order::iterator entry = found->second;
  if (entry->expires <= clock_()) {
    erase(entry);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, entry);
  return &entry->answer;
}

void AddressCache::store(std::string_view host, Family family, FamilyAnswer answer, std::chrono::seconds ttl) {
  std::string key = make_key(host, family);
  if (const auto found = index_.find(key); found != index_.end()) erase(found->second);
  const auto kept_for = lifetime(answer, ttl);
  if (kept_for.count() == 0 || max_entries_ == 0) return;
  if (order_.size() >= max_entries_) erase(std::prev(order_.end()));
  order_.push_front(Entry{std::move(key), std::move(answer), clock_() + kept_for});
  index_.emplace(order_.front().key, order_.begin());
  size_.store(order_.size(), std::memory_order_relaxed);
}

void AddressCache::erase(Order::iterator entry) {
  index_.erase(entry->key);
  order_.erase(entry);
  size_.store(order_.size(), std::memory_order_relaxed);
}

}  // namespace bloomwall::proxy
