// SPDX-License-Identifier: Apache-2.0
#include "proxy/query_log/request_row.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proxy/query_log/day_file.h"
#include "rows.h"

namespace bloomwall::proxy {
namespace {

AccessRecord full_record() {
  AccessRecord record;
  record.start = TimePoint(std::chrono::milliseconds(test::kNoon));
  record.duration = std::chrono::microseconds(2'500'000);
  record.client = "192.0.2.7";
  record.user = "anna";
  record.group = "pupils";
  record.method = "CONNECT";
  record.host = "h.example.test";
  record.url = "h.example.test:443";
  record.status = 200;
  record.bytes_sent = 12345678901;
  record.bytes_received = 99;
  record.tunnel = true;
  record.decision = filter::Decision::monitored;
  record.reason = filter::VerdictReason::listed;
  record.filter = "ads";
  record.expression = "example.test";
  record.expression_kind = 'S';
  record.decision_id = "0123456789ABCDEF";
  return record;
}

TEST(RequestRow, ComesOutOfTheRingAsItWasTold) {
  std::string ring;
  append_row(ring, full_record(), {.is_kept = true});
  append_row(ring, AccessRecord{}, {.is_shown = true});
  const auto first = read_row(ring);
  ASSERT_TRUE(first);
  const RequestRow wanted{.at = test::kNoon + 2500,
                          .microseconds = 2'500'000,
                          .bytes_sent = 12345678901,
                          .bytes_received = 99,
                          .status = 200,
                          .decision = RowDecision::monitored,
                          .is_tunnel = true,
                          .id = "0123456789ABCDEF",
                          .client = "192.0.2.7",
                          .user = "anna",
                          .group = "pupils",
                          .method = "CONNECT",
                          .host = "h.example.test",
                          .url = "h.example.test:443",
                          .reason = "listed",
                          .filter = "ads",
                          .expression = "S example.test"};
  EXPECT_EQ(first->row, wanted);
  EXPECT_TRUE(first->use.is_kept);
  EXPECT_FALSE(first->use.is_shown);
  const auto second = read_row(std::string_view(ring).substr(first->size));
  ASSERT_TRUE(second);
  EXPECT_EQ(first->size + second->size, ring.size());
  EXPECT_TRUE(second->use.is_shown);
  EXPECT_EQ(second->row.url, "");
}

TEST(RequestRow, IsNoneWhereOctetsAreMissing) {
  std::string ring;
  append_row(ring, full_record(), {.is_kept = true});
  for (std::size_t size = 0; size < ring.size(); ++size) {
    const std::vector<char> exact(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read_row({exact.data(), exact.size()})) << size;
  }
}

TEST(RequestRow, CutsLongTextsAndQueries) {
  AccessRecord record = full_record();
  const std::string long_url = "http://h.example.test/" + std::string(5000, 'a'), long_name(3000, 'n');
  record.url = long_url;
  record.user = long_name;
  std::string ring;
  append_row(ring, record, {});
  EXPECT_EQ(read_row(ring)->row.url.size(), RequestRow::kMostUrl);
  EXPECT_EQ(read_row(ring)->row.user.size(), RequestRow::kMostText);
  record.url = "http://h.example.test/a?secret=1";
  record.expression = "h.example.test/a?secret=1";
  record.expression_kind = 'Q';
  ring.clear();
  append_row(ring, record, {.strips_query = true});
  EXPECT_EQ(read_row(ring)->row.url, "http://h.example.test/a");
  EXPECT_EQ(read_row(ring)->row.expression, "Q h.example.test/a");
}

TEST(RequestRow, SaysWhatTheRulesRefusedApartFromWhatFiltersBlocked) {
  AccessRecord record = full_record();
  record.refused = true;
  record.error = "port_denied";
  EXPECT_EQ(decision_of(record), RowDecision::refused);
  std::string ring;
  append_row(ring, record, {});
  EXPECT_EQ(read_row(ring)->row.reason, "port_denied");
  record.decision = filter::Decision::blocked;
  EXPECT_EQ(decision_of(record), RowDecision::blocked);
}

TEST(RequestRow, DecisionsHaveNamesThatAreReadBack) {
  for (std::size_t i = 0; i < kRowDecisions; ++i) {
    const auto decision = static_cast<RowDecision>(i);
    EXPECT_EQ(parse_row_decision(to_string(decision)), decision);
  }
  EXPECT_FALSE(parse_row_decision("Blocked"));
  EXPECT_FALSE(parse_row_decision(""));
}

struct UrlCase {
  const char* url;
  const char* host;
  UrlBefore before;
  const char* rest;
};
TEST(SplitUrl, LeavesTheHostOutAndGivesItBack) {
  const UrlCase cases[]{
      {"http://h.test/a?b", "h.test", UrlBefore::http, "/a?b"},
      {"https://h.test:8443/", "h.test", UrlBefore::https, ":8443/"},
      {"h.test:443", "h.test", UrlBefore::nothing, ":443"},
      {"http://H.test/", "h.test", UrlBefore::whole, "http://H.test/"},
      {"ftp://h.test/", "h.test", UrlBefore::whole, "ftp://h.test/"},
      {"", "h.test", UrlBefore::whole, ""},
      {"http://h.test/", "", UrlBefore::whole, "http://h.test/"},
      {"http://", "h.test", UrlBefore::whole, "http://"},
  };
  for (const UrlCase& c : cases) {
    const SplitUrl split = split_url(c.url, c.host);
    EXPECT_EQ(split.before, c.before) << c.url;
    EXPECT_EQ(split.rest, c.rest) << c.url;
    EXPECT_EQ(joined_url(split.before, c.host, split.rest), c.url);
  }
}

}  // namespace
}  // namespace bloomwall::proxy
