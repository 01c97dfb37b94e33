// The wall clock as whoever deletes old things should read it. A clock may be wrong for a while: a board without a
// battery, a virtual machine that is restored, a time server that lies. What is deleted by such a clock is gone when
// the clock is right again. So a time that is more than kJump ahead of what it should be is believed only once it has
// held for kHold. What it should be: the last time that was believed and what has passed since by the monotonic clock;
// at first the newest time that is on record. A clock that goes back is believed at once, since it makes nothing older.
// Not thread-safe. Times are milliseconds since 1970.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace bloomwall {

class HeldClock {
 public:
  using Milliseconds = std::chrono::milliseconds;
  static constexpr std::int64_t kJump = Milliseconds(std::chrono::hours(24)).count();
  static constexpr std::int64_t kHold = Milliseconds(std::chrono::hours(1)).count();

  // `on_record`: nothing: the first time is believed.
  explicit HeldClock(std::optional<std::int64_t> on_record = std::nullopt) : believed_(on_record) {}

  // `wall`: what the clock says; `monotonic`: of any beginning. The time by which something may be thought to be over.
  std::int64_t time(std::int64_t wall, std::int64_t monotonic) {
    if (!at_) at_ = monotonic;
    const std::int64_t passed = monotonic - *at_;
    const std::int64_t expected = believed_.value_or(wall) + passed;
    if (wall <= expected + kJump) return believe(wall, monotonic);
    const bool is_another = !doubted_ || distance(wall - monotonic, *doubted_) > kJump;
    if (is_another) {
      doubted_ = wall - monotonic;
      doubted_since_ = monotonic;
    }
    if (monotonic - doubted_since_ >= kHold) return believe(wall, monotonic);
    return expected;
  }
  bool is_held() const { return doubted_.has_value(); }  // the clock has jumped, and is not believed yet

 private:
  static constexpr std::int64_t distance(std::int64_t a, std::int64_t b) { return a < b ? b - a : a - b; }
  std::int64_t believe(std::int64_t wall, std::int64_t monotonic) {
    believed_ = wall;
    at_ = monotonic;
    doubted_.reset();
    return wall;
  }

  std::optional<std::int64_t> believed_, at_;  // the time, and when that was by the monotonic clock
  std::optional<std::int64_t> doubted_;        // a wall clock less the monotonic one
  std::int64_t doubted_since_ = 0;
};

}  // namespace bloomwall
