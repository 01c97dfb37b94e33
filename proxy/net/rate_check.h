// Checks the minimum transfer rate: limits.least_rate. Every octet restarts an idle timeout, so without this check a
// body at one octet per minute (slowloris) would hold its connections for days.
// Called from time to time; a call less than a period after the last one that counted has no result. Thread: the
// owner's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

class RateCheck {
 public:
  // `moved`: octets in all so far. Differences count, so it may wrap.
  void begin(std::uint64_t moved) {
    since_ = monotonic_now();
    from_ = moved;
  }
  // Whether less than `least` octets a second have moved since the last begin() or counting look, at least `period`
  // ago.
  bool fell_short(std::uint64_t moved, std::uint64_t least, Milliseconds period) {
    const Milliseconds passed = monotonic_now() - since_;
    if (least == 0 || passed < period) return false;
    const std::uint64_t wanted = least * static_cast<std::uint64_t>(passed.count()) / 1000;
    const auto gone = static_cast<std::int64_t>(moved - from_);
    begin(moved);
    return gone < 0 || static_cast<std::uint64_t>(gone) < wanted;
  }

 private:
  Milliseconds since_{0};
  std::uint64_t from_ = 0;
};

}  // namespace bloomwall::proxy
