// Figures of the last hour, minute by minute, and of the last day in steps of five minutes, from samples of the
// counters; nothing is done for a request. Whoever owns it samples about once a second; a step begins with the first
// sample in it and ends with the first sample behind it.
// Memory: some 60 KiB, whatever the traffic. A clock that is set back restarts the current step.
// Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "proxy/telemetry/counters.h"

namespace bloomwall::proxy {

// Since the start.
struct TrafficTotals {
  std::uint64_t requests = 0;                        // that have ended, tunnels included
  std::uint64_t blocked = 0;                         // by filters
  std::uint64_t errors = 0;                          // answered by the proxy itself, without what its rules refuse
  std::uint64_t bytes_sent = 0, bytes_received = 0;  // to and from clients
  DurationCounts::Values durations{};
};
TrafficTotals totals_of(const Counters& counters);

struct TrafficStep {
  std::int64_t at = 0;  // seconds since 1970
  double seconds = 0;   // that it lasted
  std::uint64_t requests = 0, blocked = 0, errors = 0, bytes_sent = 0, bytes_received = 0;
  std::optional<double> p50_ms = {}, p99_ms = {};  // of requests that were no tunnels; nothing: there were none
  std::uint64_t tunnels = 0, in_flight = 0;        // at its end
};

enum class TrafficSpan : std::uint8_t { hour, day };
std::int64_t step_seconds(TrafficSpan span);

class TrafficHistory {
 public:
  struct Sample {
    std::int64_t at = 0;  // milliseconds since 1970
    TrafficTotals totals = {};
    std::uint64_t tunnels = 0, in_flight = 0;  // now
  };
  void take(const Sample& sample);
  // The oldest first; the last one is not over.
  std::vector<TrafficStep> steps(TrafficSpan span) const;
  // From kRecent ago, or the first sample, to the last one.
  static constexpr std::int64_t kRecent = 10'000;  // milliseconds
  TrafficStep recent() const;

 private:
  struct Series {
    TrafficSpan span;
    std::size_t most;
    std::optional<Sample> begin = {};  // of the step under way
    std::deque<TrafficStep> over = {};
    void take(const Sample& sample);
  };
  std::array<Series, 2> series_{Series{TrafficSpan::hour, 59}, Series{TrafficSpan::day, 287}};
  std::deque<Sample> recent_;
};

}  // namespace bloomwall::proxy
