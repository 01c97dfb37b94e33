// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/time_text.h"

#include <gtest/gtest.h>

#include <string_view>

namespace bloomwall::proxy {
namespace {

TEST(TimeText, IsReadWithAnyOffset) {
  const struct {
    const char* name;
    std::string_view text, says;
  } rows[] = {
      {"as it is written", "2026-11-22T12:00:00Z", "2026-11-22T12:00:00Z"},
      {"an offset of zero", "2026-11-22T12:00:00+00:00", "2026-11-22T12:00:00Z"},
      {"an unknown offset", "2026-11-22T12:00:00-00:00", "2026-11-22T12:00:00Z"},
      {"to the east", "2026-11-22T00:30:00+01:00", "2026-11-21T23:30:00Z"},
      {"to the west, by minutes", "2026-12-31T22:00:00-03:30", "2027-01-01T01:30:00Z"},
      {"a fraction", "2026-11-22T12:00:00.999999+00:00", "2026-11-22T12:00:00Z"},
      {"small letters", "2026-11-22t12:00:00z", "2026-11-22T12:00:00Z"},
      {"a leap day", "2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z"},
  };
  for (const auto& row : rows) {
    const auto read = parse_time(row.text);
    ASSERT_TRUE(read.has_value()) << row.name;
    EXPECT_EQ(time_text(*read), row.says) << row.name;
  }
}

TEST(TimeText, IsNothingElse) {
  for (const std::string_view text : {"",
                                      "2026",
                                      "2026-11-22",
                                      "2026-11-22T12:00Z",
                                      "2026-11-22T12:00:00",
                                      "2026-11-22 12:00:00Z",
                                      "2026-02-30T00:00:00Z",
                                      "2027-02-29T00:00:00Z",
                                      "2026-11-22T24:00:00Z",
                                      "2026-11-22T12:60:00Z",
                                      "2026-11-22T12:00:00.Z",
                                      "2026-11-22T12:00:00,5Z",
                                      "2026-11-22T12:00:00+1:00",
                                      "2026-11-22T12:00:00+0100",
                                      "2026-11-22T12:00:00+24:00",
                                      "2026-11-22T12:00:00+01:60",
                                      "2026-11-22T12:00:00+01:00Z",
                                      "2026-11-22T12:00:00ZZ",
                                      " 2026-11-22T12:00:00Z",
                                      "2026-11-22T12:00:00Z ",
                                      "1970-01-01T00:30:00+01:00",
                                      "9999-12-31T23:30:00-01:00",
                                      "12026-11-22T12:00:00Z",
                                      "2026-1-2T12:00:00Z"}) {
    EXPECT_FALSE(parse_time(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
