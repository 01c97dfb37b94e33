// Ends and beginnings as commands take them, "--for 12h", "--since 2d", and times as they show them to people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "base/time_zone.h"
#include "base/units.h"

namespace bloomwall::proxy {

// The longest that exceptions and tokens last, and that is looked back.
inline constexpr Milliseconds kLongestLasting = std::chrono::hours(24 * 3650);

// A duration as whole seconds, rounded up; nothing where it is none, is below 1 s or is longer than that.
std::optional<std::int64_t> lasting_seconds(const std::string& text, Milliseconds longest = kLongestLasting);

// A duration from now on, as a time; "ever": null. Error: "--for 3x: ...".
tl::expected<nlohmann::ordered_json, std::string> end_after(const std::string& lasts);

// A time, or so far back, as a time: "2026-01-31T12:00:00Z"; of an empty text 1970. Error: "--since 3x: ...".
tl::expected<std::string, std::string> since_time(const std::string& since);

// Times in text output, on the wall clock of the configuration's time_zone: "2026-01-31 13:00 (Europe/Berlin)". What
// programs read (JSON, lines of lists) stays in UTC.
class PeopleTime {
 public:
  explicit PeopleTime(const std::filesystem::path& config);  // one that cannot be read: the zone of this machine
  explicit PeopleTime(const TimeZone& zone) : zone_(zone) {}
  std::string text(std::int64_t seconds) const;    // of a year without four digits, and 0: as format_time()
  std::string text(const std::string& utc) const;  // a time of the API, "2026-01-31T12:00:00Z"; what is none stays
  // Of events, which are told apart by their seconds, those of a whole minute too: "2026-01-31 13:00:00 (UTC)".
  std::string event_text(const std::string& utc) const;

 private:
  TimeZone zone_;
};

}  // namespace bloomwall::proxy
