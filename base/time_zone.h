// Time zones, from the files of the system (tzdata): how far local time is from UTC, and since and until when.
// Instants are seconds since 1970 in UTC. Immutable; the files are read once in the life of the process, by the first
// zone that is asked for. Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace date {
class time_zone;
}

namespace bloomwall {

using Instant = std::int64_t;

class TimeZone {
 public:
  TimeZone() = default;  // UTC
  // "Europe/Berlin", or "system": that of this machine, UTC where none is set. Nothing where there is no such zone.
  static std::optional<TimeZone> find(const std::string& name);

  // A time in which the offset stays the same: begin <= t < end.
  struct Period {
    Instant begin = 0, end = 0;
    std::int32_t offset = 0;  // seconds that local time is ahead of UTC
  };
  Period period_of(Instant instant) const;
  // The first instant at which the wall clock shows `local`, seconds since 1970-01-01 00:00 on it; nothing where a
  // clock change skips it.
  std::optional<Instant> instant_of(Instant local) const;
  std::string name() const;  // "Europe/Berlin", "UTC"

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}
  const date::time_zone* zone_ = nullptr;  // null: UTC; lives as long as the process
};

// The wall clock there, for people: "2026-11-27 06:30:00"; of a whole minute with_zone() and until_text() leave the
// seconds out.
std::string wall_clock(Instant instant, const TimeZone& zone);
// "2026-11-27 06:30 (Europe/Berlin)", "2026-11-27 06:30:07 (UTC)".
std::string wall_clock_with_zone(Instant instant, const TimeZone& zone);
// For somebody who reads it at `now`: "06:30", and with the date where that is not today there: "2026-11-28 06:30".
std::string until_text(Instant instant, Instant now, const TimeZone& zone);

}  // namespace bloomwall
