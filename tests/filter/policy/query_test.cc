// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/query.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

std::string found(const std::optional<FilterMatch>& match) {
  if (!match) return "";
  return std::string(1, static_cast<char>(match->kind)) + " " + match->expression +
         (match->by_delta ? " by delta" : "");
}

class FilterQueryTest : public testing::Test {
 protected:
  FilterQueryTest() {
    file_ = open_filter(
        make_filter(folder_ / "f.bwf", {.entries = {"S example.com", "U x.test/evil/../x", "Q y.test/a?q=1",
                                                    "D y.test/d/", "R me@example.com", "R gone@example.com"}}));
  }
  Delta delta(std::string_view changes) {
    auto loaded = Delta::parse(Delta::first_line(id_of(1)) + "\n" + std::string(changes), "d", file_->keys(), id_of(1));
    EXPECT_TRUE(loaded);
    return *std::move(loaded);
  }
  std::string url(std::string_view text, const Delta* changes = nullptr) {
    return found(query(*file_, changes, canonicaliser_.url(text)));
  }
  TempFolder folder_;
  std::unique_ptr<FilterFile> file_;
  Canonicaliser canonicaliser_;
};

TEST_F(FilterQueryTest, GivesTheExpressionThatMatches) {
  EXPECT_EQ(url("http://www.example.com/x"), "S example.com");
  EXPECT_EQ(url("http://y.test/a/?q=1"), "Q y.test/a?q=1");
  EXPECT_EQ(url("http://y.test/d"), "D y.test/d/");
  EXPECT_EQ(url("http://y.test/a"), "");
  EXPECT_EQ(url("http://example.org/"), "");
}

TEST_F(FilterQueryTest, AnyFormOfAnAmbiguousUrlCounts) {
  ASSERT_GT(canonicaliser_.url("http://x.test/evil/%252e%252e/x").forms.size(), 1U);
  EXPECT_EQ(url("http://x.test/evil/%252e%252e/x"), "U x.test/evil/../x");
  EXPECT_EQ(url("http://x.test/x"), "");
}

TEST_F(FilterQueryTest, ARejectedUrlMatchesNothing) {
  EXPECT_EQ(canonicaliser_.url("http://user@example.com/").action, UrlAction::reject);
  EXPECT_EQ(url("http://user@example.com/"), "");
  EXPECT_EQ(url("http:///"), "");
}

TEST_F(FilterQueryTest, TheDeltaComesFirst) {
  const Delta changes = delta("-example.com\n+http://example.org/a\n");
  EXPECT_EQ(url("example.com", &changes), "");
  EXPECT_EQ(url("example.org/a?b", &changes), "U example.org/a by delta");
  EXPECT_EQ(url("y.test/d/x", &changes), "D y.test/d/");
}

TEST_F(FilterQueryTest, RawKeysAreByteForByte) {
  const FilterQuery plain(*file_);
  EXPECT_EQ(found(plain.raw("me@example.com")), "R me@example.com");
  EXPECT_EQ(found(plain.raw("me@example.co")), "");
  EXPECT_EQ(found(plain.raw("ME@example.com")), "");
  EXPECT_EQ(found(plain.raw("")), "");
  const Delta changes = delta("-R gone@example.com\n+R new@example.com\n");
  const FilterQuery changed(*file_, &changes);
  EXPECT_EQ(found(changed.raw("gone@example.com")), "");
  EXPECT_EQ(found(changed.raw("new@example.com")), "R new@example.com by delta");
  EXPECT_EQ(found(changed.raw("me@example.com")), "R me@example.com");
}

TEST(FilterQuery, AFileWithoutRawKeysHasNone) {
  const TempFolder folder;
  const auto file = open_filter(make_filter(folder / "f.bwf", {.entries = {"S example.com"}}));
  EXPECT_FALSE(FilterQuery(*file).raw("example.com"));
}

}  // namespace
}  // namespace bloomwall::filter
