// Searches the files of the query log, the newest day first, while its thread goes on writing.
// What is asked for in full (id, client, user, filter, group) is looked up in the day's names first; a part of a host
// in its hosts. Where at most kMostMerged hosts match, their rows come by an index, merged; else rows are read one by
// one, as for a part of a path. Cost, of a million rows a day: bench/query_log_bench.cc.
// A search ends after kMostRows rows or SearchLimits::time, wherever it is; the cursor of its page goes on from there.
// Cursors are of hostile origin: parse_cursor() takes "2026-11-23.123" alone, and any such is harmless.
// Blocking; any thread, one search at a time on each object's own connection.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/query_log/day_folder.h"
#include "proxy/query_log/request_row.h"

namespace bloomwall::proxy {

// Where a page has ended: the next one begins with the rows below.
struct SearchCursor {
  Day day;
  std::int64_t row = 0;
  friend bool operator==(const SearchCursor&, const SearchCursor&) = default;
};
std::optional<SearchCursor> parse_cursor(std::string_view text);
std::string cursor_text(const SearchCursor& cursor);

struct RequestQuery {
  std::string host = {}, path = {};  // parts, of lower case for a host; empty ones are not asked, here and below
  std::string client = {}, user = {}, filter = {}, group = {}, id = {};
  std::string masked_client = {};  // rows of this one are found as well: `client` as query_log.clients has it
  std::optional<RowDecision> decision = {};
  std::int64_t since = 0;  // milliseconds since 1970
  std::optional<SearchCursor> cursor = {};
};

struct SearchLimits {
  std::size_t rows = 200;
  std::chrono::milliseconds time{2000};
  std::function<bool()> stop = {};  // asked now and then; true: end
};

struct RequestPage {
  std::vector<RequestRow> rows;
  std::optional<SearchCursor> next;       // nothing: there is nothing more
  std::optional<std::int64_t> looked_to;  // milliseconds since 1970: what is newer was looked at
  std::vector<std::string> unreadable;    // names of files
};

constexpr std::size_t kMostMerged = 256;
RequestPage search_requests(const std::filesystem::path& folder, const RequestQuery& query, const SearchLimits& limits);

}  // namespace bloomwall::proxy
