// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/origin_places.h"

#include <algorithm>
#include <utility>

namespace bloomwall::proxy {

void OriginPlaces::change(std::string_view key, std::size_t Origin::* count, bool up) {
  const std::lock_guard lock(mutex_);
  auto found = origins_.find(key);
  if (found == origins_.end()) found = origins_.try_emplace(std::string(key)).first;
  Origin& origin = found->second;
  up ? ++(origin.*count) : --(origin.*count);
  if (origin.workers == 0 && origin.waiting == 0) origins_.erase(found);
}

void OriginPlaces::enter(std::string_view key) { change(key, &Origin::workers, true); }
void OriginPlaces::leave(std::string_view key) { change(key, &Origin::workers, false); }

std::size_t OriginPlaces::workers_at(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = origins_.find(key);
  return found == origins_.end() ? 0 : found->second.workers;
}

void OriginPlaces::want(std::string_view key) {
  change(key, &Origin::waiting, true);
  waiting_.fetch_add(1, std::memory_order_relaxed);
}

void OriginPlaces::unwant(std::string_view key) {
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  change(key, &Origin::waiting, false);
}

bool OriginPlaces::is_wanted(std::string_view key) const {
  if (waiting_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard lock(mutex_);
  const auto found = origins_.find(key);
  return found != origins_.end() && found->second.waiting > 0;
}

void PlaceWait::pause(std::string_view key) {
  if (!wanted_) {
    places_.want(key);
    wanted_ = key;
  }
  timer_.set(std::exchange(next_, std::min(2 * next_, kLongestPause)));
}

void PlaceWait::end() {
  timer_.clear();
  if (wanted_) places_.unwant(*wanted_);
  wanted_.reset();
}

}  // namespace bloomwall::proxy
