// SPDX-License-Identifier: Apache-2.0
#include "filter/url/plain_query.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/filter/url/tsv.h"

namespace bloomwall::filter {
namespace {

std::string plain(std::string_view query) {
  const std::vector<char> exact(query.begin(), query.end());
  std::string out = "what stood there";
  set_plain_query({exact.data(), exact.size()}, out);
  return out;
}

TEST(PlainQuery, IsWhatTheTableSays) {
  const auto rows = read_tsv(BLOOMWALL_SOURCE_DIR "/tests/data/plain_queries.tsv", 2);
  for (const auto& row : rows) {
    EXPECT_EQ(plain(row[0]), row[1]) << row[0];
    EXPECT_EQ(plain(row[1]), row[1]) << row[0] << ": a plain query stays";
  }
  EXPECT_EQ(rows.size(), 31U);
}

}  // namespace
}  // namespace bloomwall::filter
