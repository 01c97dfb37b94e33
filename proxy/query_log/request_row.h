// One row of the query log, and its form on the way from a worker to the log's thread: octets in a ring
// (proxy/log/byte_ring.h) of this process, which nobody else writes.
// Texts are bounded: a longer one is cut. They may hold any octets; who shows them makes them harmless.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/telemetry/access_record.h"

namespace bloomwall::proxy {

// What became of a request. Written to files: append only, never renumber.
enum class RowDecision : std::uint8_t { allowed, monitored, blocked, rejected, refused };
inline constexpr std::size_t kRowDecisions = 5;
const char* to_string(RowDecision decision);
std::optional<RowDecision> parse_row_decision(std::string_view text);
// refused: by the access rules, limits or grammar, and not by a filter.
RowDecision decision_of(const AccessRecord& record);

struct RequestRow {
  static constexpr std::size_t kMostUrl = 2000, kMostText = 255, kMostExpression = 500;

  std::int64_t at = 0;  // milliseconds since 1970, of its end
  std::int64_t microseconds = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  int status = 0;
  RowDecision decision = RowDecision::allowed;
  bool is_tunnel = false;
  std::string id = {}, client = {}, user = {}, group = {}, method = {}, host = {}, url = {}, reason = {}, filter = {},
              expression = {};
  friend bool operator==(const RequestRow&, const RequestRow&) = default;
};

// What is to become of a row that stands in a ring.
struct RowUse {
  bool is_kept = false;   // in the file
  bool is_shown = false;  // to those who watch
  bool strips_query = false;
};
// Without '?' and what follows.
inline std::string_view without_query(std::string_view url) { return url.substr(0, url.find('?')); }
// Appends the octets.
void append_row(std::string& out, const AccessRecord& record, const RowUse& use);

struct RowInRing {
  RequestRow row;
  RowUse use;
  std::size_t size = 0;  // octets that it takes
};
// The first row of what stands in a ring. Nothing: `octets` does not hold a whole one.
std::optional<RowInRing> read_row(std::string_view octets);

}  // namespace bloomwall::proxy
