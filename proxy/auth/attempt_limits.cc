// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/attempt_limits.h"

#include <algorithm>

namespace bloomwall::proxy {

void AttemptLimits::note_refusal(const Key& key, std::uint32_t most, Milliseconds lock, Milliseconds now) {
  const std::scoped_lock guard(mutex_);
  if (entries_.size() >= kMost && !entries_.contains(key)) make_room();
  Entry& entry = entries_.try_emplace(key, Entry{.since = now}).first->second;
  if (now - entry.since >= window_) {
    entry.since = now;
    entry.refusals = 0;
  }
  if (++entry.refusals < most) return;
  entry.locked_until = now + lock;
  entry.refusals = 0;
  entry.since = now;
}

Milliseconds AttemptLimits::locked_for(const Key& key, Milliseconds now) const {
  const std::scoped_lock guard(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return Milliseconds(0);
  return std::max(found->second.locked_until - now, Milliseconds(0));
}

std::uint32_t AttemptLimits::left(const Key& key, std::uint32_t most, Milliseconds now) const {
  const std::scoped_lock guard(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return most;
  const Entry& entry = found->second;
  if (entry.locked_until > now) return 0;
  if (now - entry.since >= window_) return most;
  return most > entry.refusals ? most - entry.refusals : 1;  // after a reload with fewer the next one locks
}

void AttemptLimits::make_room() {
  constexpr int kLookedAt = 16;
  auto least = entries_.begin();
  auto at = least;
  for (int i = 0; i < kLookedAt && at != entries_.end(); ++i, ++at) {
    if (at->second.matters_until(window_) < least->second.matters_until(window_)) least = at;
  }
  entries_.erase(least);
}

std::size_t AttemptLimits::locked(Milliseconds now) const {
  const std::scoped_lock guard(mutex_);
  const auto count = std::ranges::count_if(entries_, [&](const auto& each) { return each.second.locked_until > now; });
  return static_cast<std::size_t>(count);
}

std::size_t AttemptLimits::size() const {
  const std::scoped_lock guard(mutex_);
  return entries_.size();
}

}  // namespace bloomwall::proxy
