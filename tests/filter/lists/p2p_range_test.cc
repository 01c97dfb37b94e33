// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/p2p_range.h"

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

class P2pList : public testing::TestWithParam<Row> {};
TEST_P(P2pList, IsReadAsRanges) {
  ReadOptions options;
  options.allow_wide_ranges = true;  // the sink takes ranges then
  expect_row(GetParam(), options);
}
INSTANTIATE_TEST_SUITE_P(
    Rules, P2pList,
    testing::Values(
        Row{"PeerGuardian", "# List\nSome Name, Inc.:192.0.2.0-192.0.2.255\nOther:198.51.100.4-198.51.100.7\n",
            "N 192.0.2.0/24, N 198.51.100.4/30, comment"},
        Row{"EMule", "192.000.002.000 - 192.000.002.255 , 000 , Some Name\n198.51.100.4-198.51.100.7,100,x\n",
            "N 192.0.2.0/24, N 198.51.100.4/30"},
        Row{"LevelsThatPass",
            "192.0.2.0 - 192.0.2.255 , 200 , x\n192.0.3.0 - 192.0.3.255 , 0 , x\n192.0.4.0 - 192.0.4.255 , 127 , y\n",
            "N 192.0.3.0/24, N 192.0.4.0/24, skip: range whose access level lets it pass"}),
    row_name);

TEST(P2pRange, MayHaveANameOfAnyText) {
  EXPECT_EQ(describe(read_text("a.b: c # d // e; f:192.0.2.0-192.0.2.255\nhttp://x.test/:198.51.100.4 - 198.51.100.7\n",
                               Format::networks)),
            "N 192.0.2.0/24, N 198.51.100.4/30");
}

TEST(P2pRange, IsNothingElse) {
  for (const char* line : {"", "a.test", "a.test:80", "http://a.test:80", "192.0.2.1:8080-9090", "name:192.0.2.1",
                           "name:1.2.3-1.2.4", "name:1.2.3.4.5-1.2.3.6", "name:192.0.2.256-192.0.2.300",
                           "2001:db8::1-2001:db8::2", "192.0.2.0,100,x", "192.0.2.0 - 192.0.2.9"}) {
    EXPECT_EQ(read_p2p_range(line).outcome, RangeReading::Outcome::no_range) << line;
  }
}

}  // namespace
}  // namespace bloomwall::filter::test
