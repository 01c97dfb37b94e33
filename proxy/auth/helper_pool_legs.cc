// Conversations of several legs: channels that are kept for them (declared in helper_pool.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "proxy/auth/helper_pool.h"

namespace bloomwall::proxy {

// Noticed when there is something to ask, or within kLookAround where something waits.
void HelperPool::release_ended() {
  std::vector<std::uint64_t> ended;
  {
    const std::scoped_lock lock(ended_->mutex);
    ended = std::exchange(ended_->ids, {});
  }
  for (const ProcessPtr& process : processes_) {
    for (Slot& slot : process->slots) {
      if (std::ranges::find(ended, slot.conversation) != ended.end()) slot.conversation = 0;
    }
  }
}

// How many channels one client may keep.
std::size_t HelperPool::most_kept() const {
  const std::size_t channels = std::max<std::size_t>(current_.concurrency, 1) * current_.processes;
  return std::max<std::size_t>(channels / 2, 1);
}

HelperConversationPtr HelperPool::keep(Slot& slot, const ClientKey& client) {
  std::size_t kept = 0;
  Slot* oldest = nullptr;
  for (const ProcessPtr& process : processes_) {
    for (Slot& other : process->slots) {
      if (other.conversation == 0 || other.client != client) continue;
      ++kept;
      if (oldest == nullptr || other.conversation < oldest->conversation) oldest = &other;
    }
  }
  if (kept >= most_kept()) oldest->conversation = 0;
  slot.conversation = ++last_conversation_;
  slot.kept_until = clock() + current_.timeout / 2;
  slot.client = client;
  return std::make_shared<const HelperConversation>(ended_, slot.conversation);
}

// A leg whose channel is no longer kept has no answer.
void HelperPool::dispatch_legs(Milliseconds now) {
  std::vector<Leg> legs;
  {
    const std::scoped_lock lock(mutex_);
    if (is_renewed_) return;
    legs = std::exchange(legs_, {});
    figures_.asked += legs.size();
  }
  for (Leg& leg : legs) {
    Process* at = nullptr;
    Slot* kept = nullptr;
    for (const ProcessPtr& process : processes_) {
      if (process->settings != current_ || !process->fault.empty()) continue;
      for (Slot& slot : process->slots) {
        if (slot.conversation != leg.conversation || slot.client != leg.item->client) continue;
        at = process.get();
        kept = &slot;
      }
    }
    at == nullptr ? settle(*leg.item, {}) : put(*at, *kept, std::move(leg.item), now);
  }
  release_ended();
}

}  // namespace bloomwall::proxy
