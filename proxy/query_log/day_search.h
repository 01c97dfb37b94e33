// The search of one day's file (request_search.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy/query_log/request_search.h"
#include "proxy/state/database.h"

namespace bloomwall::proxy {

class DaySearch {
 public:
  using Clock = std::chrono::steady_clock;
  enum class End : std::uint8_t { done, full, late, unreadable };  // done: there is nothing more in this file

  DaySearch(const RequestQuery& query, const SearchLimits& limits, Clock::time_point deadline);
  DaySearch(const DaySearch&) = delete;
  DaySearch& operator=(const DaySearch&) = delete;

  // Appends to `found` the rows below that number.
  End run(const std::filesystem::path& file, std::int64_t below, std::vector<RequestRow>& found);
  // After run(): the last row that was looked at, and its time; nothing: none was.
  std::optional<std::int64_t> last_row() const { return last_row_; }
  std::optional<std::int64_t> last_time() const { return last_time_; }

 private:
  using Ids = std::vector<std::int64_t>;
  struct Source {  // rows by falling number
    Statement rows;
    std::int64_t row = 0;
  };
  bool open(const std::filesystem::path& file);
  bool find_names();
  bool find_hosts();
  void choose_sources(std::int64_t below);
  void add_source(const char* condition, SqlValue value, std::int64_t below);
  Source* next_source();
  bool step(Source& source);
  End collect(std::vector<RequestRow>& found);
  bool matches(const Statement& row) const;
  RequestRow read(const Statement& row);
  std::string text_of(const char* sql, std::int64_t id, std::map<std::int64_t, std::string>& known);
  bool is_late() const;

  const RequestQuery& query_;
  const SearchLimits& limits_;
  const Clock::time_point deadline_;
  std::optional<Database> database_;
  std::vector<std::unique_ptr<Source>> sources_;
  Ids hosts_;  // that match, sorted
  bool hosts_are_sources_ = false;
  std::int64_t user_ = 0, filter_ = 0, group_ = 0;  // names.id; 0: not asked
  Ids clients_;                                     // likewise, of which any may be it; empty: not asked
  std::map<std::int64_t, std::string> host_names_, names_;
  std::optional<std::int64_t> last_row_, last_time_;
  unsigned older_rows_ = 0;  // than query_.since, one after the other
  bool has_failed_ = false;
};

}  // namespace bloomwall::proxy
