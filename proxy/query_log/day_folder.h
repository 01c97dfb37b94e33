// The folder of the query log: "2026-11-23.db" of each day (UTC), and what was set aside of it because it was damaged,
// "2026-11-23.damaged", "2026-11-23.damaged.1" ... Files of other names are left alone.
// Pure but for the disk. Thread-safe: files that go meanwhile are passed over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {

using Day = std::chrono::sys_days;
Day day_of(std::int64_t milliseconds);  // since 1970
std::int64_t start_of(Day day);         // in milliseconds
std::string day_text(Day day);          // "2026-11-23"
std::optional<Day> parse_day(std::string_view text);
std::filesystem::path day_path(const std::filesystem::path& folder, Day day);

struct DayOnDisk {
  Day day;
  std::uint64_t bytes = 0;                   // what SQLite keeps beside it included
  std::vector<std::filesystem::path> files;  // all of it
  bool is_damaged = false;                   // it was set aside
};
// The newest first; a folder that is not there is empty.
std::vector<DayOnDisk> days_in(const std::filesystem::path& folder);

// Removes days that were over for `keep` at that time, then the oldest ones until all together have at most `most`
// octets; the day that is under way at `now` stays. Days to come are those of a clock that was ahead: they go last.
// `believed`: the time by which a day is over (base/held_clock.h). The octets that are left.
struct Retention {
  std::chrono::milliseconds keep{0};
  std::uint64_t most = 0;
};
std::uint64_t remove_old_days(const std::filesystem::path& folder, const Retention& retention, std::int64_t now,
                              std::int64_t believed);

// Renames a day's file, so that a new one can be made. The new name; nothing where that did not go.
std::optional<std::filesystem::path> set_aside(const std::filesystem::path& folder, Day day);

}  // namespace bloomwall::proxy
