// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/top_history.h"

#include <algorithm>

namespace bloomwall::proxy {
namespace {

std::int64_t slot_seconds(TrafficSpan span) { return span == TrafficSpan::hour ? 600 : 3600; }
std::int64_t slots_before(TrafficSpan span) { return span == TrafficSpan::hour ? 6 : 24; }  // the one under way
std::int64_t first_slot(TrafficSpan span, std::int64_t now) { return now / slot_seconds(span) - slots_before(span); }

}  // namespace

void TopHistory::add(const BlockedTops& tops, std::int64_t now) {
  add(hour_, TrafficSpan::hour, tops, now);
  add(day_, TrafficSpan::day, tops, now);
}

void TopHistory::add(Slots& slots, TrafficSpan span, const BlockedTops& tops, std::int64_t now) {
  const std::int64_t number = now / slot_seconds(span), first = first_slot(span, now);
  std::erase_if(slots, [&](const Slot& slot) { return slot.number < first || slot.number > number; });
  if (tops.empty()) return;
  if (slots.empty() || slots.back().number != number) slots.push_back({number, {}});
  slots.back().tops.add(tops);
}

TopHistory::Window TopHistory::window(TrafficSpan span, std::int64_t now) const {
  const std::int64_t first = first_slot(span, now);
  Window window{.tops = {}, .since = std::max(began_, first * slot_seconds(span))};
  for (const Slot& slot : span == TrafficSpan::hour ? hour_ : day_) {
    if (slot.number >= first) window.tops.add(slot.tops);
  }
  return window;
}

}  // namespace bloomwall::proxy
