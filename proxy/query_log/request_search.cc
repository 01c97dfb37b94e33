// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/request_search.h"

#include <fmt/format.h>

#include "base/units.h"
#include "proxy/query_log/day_search.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kCursorDay = 10, kMostDigits = 18;
constexpr std::int64_t kEveryRow = 999'999'999'999'999'999;  // a cursor can say it

}  // namespace

std::optional<SearchCursor> parse_cursor(std::string_view text) {
  if (text.size() < kCursorDay + 2 || text.size() > kCursorDay + 1 + kMostDigits || text[kCursorDay] != '.')
    return std::nullopt;
  const auto day = parse_day(text.substr(0, kCursorDay));
  const auto row = parse_integer(text.substr(kCursorDay + 1));
  if (!day || !row) return std::nullopt;
  return SearchCursor{*day, static_cast<std::int64_t>(*row)};
}

std::string cursor_text(const SearchCursor& cursor) { return fmt::format("{}.{}", day_text(cursor.day), cursor.row); }

RequestPage search_requests(const std::filesystem::path& folder, const RequestQuery& query,
                            const SearchLimits& limits) {
  const auto deadline = DaySearch::Clock::now() + limits.time;
  RequestPage page;
  for (const DayOnDisk& day : days_in(folder)) {
    if (query.cursor && day.day > query.cursor->day) continue;
    if (start_of(day.day + std::chrono::days(1)) <= query.since) break;
    if (day.is_damaged) {
      page.unreadable.push_back(day.files.front().filename().string());
      continue;
    }
    if (page.looked_to && DaySearch::Clock::now() >= deadline) {
      page.next = SearchCursor{day.day, kEveryRow};
      return page;
    }
    const bool is_continued = query.cursor && day.day == query.cursor->day;
    const std::int64_t below = is_continued ? query.cursor->row : kEveryRow;
    DaySearch search(query, limits, deadline);
    const DaySearch::End end = search.run(day_path(folder, day.day), below, page.rows);
    if (search.last_time()) page.looked_to = search.last_time();
    if (end == DaySearch::End::full || end == DaySearch::End::late) {
      page.next = SearchCursor{day.day, search.last_row().value_or(below)};
      return page;
    }
    if (end == DaySearch::End::unreadable) page.unreadable.push_back(day_text(day.day) + ".db");
    if (end == DaySearch::End::done) page.looked_to = start_of(day.day);
  }
  return page;
}

}  // namespace bloomwall::proxy
