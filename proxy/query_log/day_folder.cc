// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/day_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

#include "base/units.h"

namespace bloomwall::proxy {
namespace {

namespace fs = std::filesystem;
using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::year_month_day;

constexpr std::size_t kDayText = 10;
constexpr std::string_view kEnding = ".db", kDamaged = ".damaged";
constexpr std::array<std::string_view, 2> kBeside{"-wal", "-shm"};  // SQLite's own
constexpr int kMostSetAside = 100;

// The day and the kind of a file; nothing: not a file of the log.
struct FileName {
  Day day;
  bool is_damaged = false;
};
std::optional<FileName> parse_name(std::string_view name) {
  const auto day = parse_day(name.substr(0, kDayText));
  if (!day) return std::nullopt;
  name.remove_prefix(kDayText);
  if (name.starts_with(kDamaged)) return FileName{*day, true};
  if (!name.starts_with(kEnding)) return std::nullopt;
  name.remove_prefix(kEnding.size());
  if (!name.empty() && std::ranges::find(kBeside, name) == kBeside.end()) return std::nullopt;
  return FileName{*day, false};
}

void remove(const DayOnDisk& day) {
  std::error_code error;
  for (const fs::path& file : day.files) fs::remove(file, error);
}

}  // namespace

Day day_of(std::int64_t since) {
  return std::chrono::floor<days>(std::chrono::sys_time<milliseconds>(milliseconds(since)));
}

std::int64_t start_of(Day day) { return std::chrono::duration_cast<milliseconds>(day.time_since_epoch()).count(); }

std::string day_text(Day day) {
  const year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", int{date.year()}, unsigned{date.month()}, unsigned{date.day()});
}

std::optional<Day> parse_day(std::string_view text) {
  if (text.size() != kDayText || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = parse_integer(text.substr(0, 4)), month = parse_integer(text.substr(5, 2)),
             day = parse_integer(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const year_month_day date(std::chrono::year(static_cast<int>(*year)),
                            std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  return Day(date);
}

fs::path day_path(const fs::path& folder, Day day) { return folder / (day_text(day) + std::string(kEnding)); }

std::vector<DayOnDisk> days_in(const fs::path& folder) {
  std::map<std::pair<Day, bool>, DayOnDisk> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto name = parse_name(at->path().filename().native());
    std::error_code missing;
    if (!name || !at->is_regular_file(missing)) continue;
    DayOnDisk& day = found[{name->day, name->is_damaged}];
    day.day = name->day;
    day.is_damaged = name->is_damaged;
    day.files.push_back(at->path());
    if (const auto size = at->file_size(missing); !missing) day.bytes += size;
  }
  std::vector<DayOnDisk> days;
  for (auto& [key, day] : found) days.push_back(std::move(day));
  std::ranges::reverse(days);
  return days;
}

std::uint64_t remove_old_days(const fs::path& folder, const Retention& retention, std::int64_t now,
                              std::int64_t believed) {
  std::vector<DayOnDisk> all = days_in(folder);
  std::uint64_t bytes = 0;
  for (const DayOnDisk& day : all) bytes += day.bytes;
  const Day today = day_of(now);
  std::erase_if(all, [today](const DayOnDisk& day) { return day.day == today && !day.is_damaged; });
  while (!all.empty()) {
    const DayOnDisk& oldest = all.back();
    const bool is_over = start_of(oldest.day + days(1)) + retention.keep.count() <= believed;
    if (!is_over && bytes <= retention.most) break;
    remove(oldest);
    bytes -= std::min(bytes, oldest.bytes);
    all.pop_back();
  }
  return bytes;
}

std::optional<fs::path> set_aside(const fs::path& folder, Day day) {
  const fs::path file = day_path(folder, day);
  std::error_code error;
  for (int i = 0; i < kMostSetAside; ++i) {
    fs::path aside = folder / (day_text(day) + std::string(kDamaged) + (i == 0 ? "" : fmt::format(".{}", i)));
    if (fs::exists(aside, error)) continue;
    fs::rename(file, aside, error);
    if (error) return std::nullopt;
    for (const std::string_view beside : kBeside) fs::remove(fs::path(file) += beside, error);
    return aside;
  }
  return std::nullopt;
}

}  // namespace bloomwall::proxy
