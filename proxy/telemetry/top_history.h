// The names of what was blocked most in the last hour and the last day: sums of TopNames by slots of ten minutes and of
// an hour, so that a span is that long and up to one slot more. Memory: at most 33 slots of 4,000 names.
// Not thread-safe. Cost of window(): a look-up for each name of its slots.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

#include "proxy/telemetry/top_names.h"
#include "proxy/telemetry/traffic_history.h"

namespace bloomwall::proxy {

class TopHistory {
 public:
  explicit TopHistory(std::int64_t now) : began_(now) {}  // seconds since 1970, here and below

  void add(const BlockedTops& tops, std::int64_t now);
  struct Window {
    BlockedTops tops;
    std::int64_t since = 0;
  };
  Window window(TrafficSpan span, std::int64_t now) const;

 private:
  struct Slot {
    std::int64_t number = 0;
    BlockedTops tops;
  };
  using Slots = std::deque<Slot>;  // the oldest first
  static void add(Slots& slots, TrafficSpan span, const BlockedTops& tops, std::int64_t now);

  const std::int64_t began_;
  Slots hour_, day_;
};

}  // namespace bloomwall::proxy
