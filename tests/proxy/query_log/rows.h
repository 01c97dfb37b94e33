// Rows and records for tests of the query log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "proxy/query_log/request_row.h"

namespace bloomwall::test {

inline constexpr std::int64_t kNoon = 1'793'620'800'000;  // 2026-11-02T12:00:00Z
inline constexpr std::int64_t kDayLong = 86'400'000;

// Of a request to http://HOST/a that some filter has blocked.
inline proxy::RequestRow blocked_row(const std::string& host, std::int64_t at = kNoon) {
  proxy::RequestRow row;
  row.at = at;
  row.microseconds = 1500;
  row.bytes_sent = 700;
  row.bytes_received = 80;
  row.status = 403;
  row.decision = proxy::RowDecision::blocked;
  row.id = "ID-" + host;
  row.client = "127.0.0.2";
  row.method = "GET";
  row.host = host;
  row.url = "http://" + host + "/a";
  row.reason = "listed";
  row.filter = "ads";
  row.expression = "S " + host;
  return row;
}

// The same as its record; the texts must outlive it.
inline proxy::AccessRecord blocked_record(std::string_view host, std::string_view url) {
  proxy::AccessRecord record;
  record.start = proxy::TimePoint(std::chrono::milliseconds(kNoon));
  record.client = "127.0.0.2";
  record.method = "GET";
  record.host = host;
  record.url = url;
  record.status = 403;
  record.decision = filter::Decision::blocked;
  record.reason = filter::VerdictReason::listed;
  record.filter = "ads";
  return record;
}

}  // namespace bloomwall::test
