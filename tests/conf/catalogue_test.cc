// SPDX-License-Identifier: Apache-2.0
#include "conf/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "conf/config.h"

namespace bloomwall::conf {
namespace {

TEST(Catalogue, TheShippedOneIsWholeAndMakesFilters) {
  const auto lists = load_catalogue(BLOOMWALL_SOURCE_DIR "/conf/catalogue.yaml");
  ASSERT_TRUE(lists.has_value()) << lists.error().front().text();
  EXPECT_GE(lists->size(), 30U);
  for (const ListedSource& list : *lists) {
    const auto made = load_text(filter_file_text(list, "/var/lib/bloomwall/" + list.name + ".bwf"), list.name);
    ASSERT_TRUE(made.has_value()) << made.error().front().text();
    ASSERT_EQ(made->filters.size(), 1U);
    const Filter& filter = made->filters.front();
    EXPECT_EQ(filter.name, list.name);
    ASSERT_EQ(filter.sources.size(), 1U);
    EXPECT_EQ(filter.sources.front().url, list.url);
    EXPECT_EQ(filter.sources.front().every, list.every);
    EXPECT_EQ(filter.guards.unusable, list.unusable);
    EXPECT_GT(list.entries, 0U) << list.name;
  }
}

TEST(Catalogue, OddPathsStandInQuotes) {
  const ListedSource list{.name = "a", .url = "https://h.test/a"};
  const auto made = load_text(filter_file_text(list, "/odd \"#: \\folder/a.bwf"), "a");
  ASSERT_TRUE(made.has_value()) << made.error().front().text();
  EXPECT_EQ(made->filters.front().file, "/odd \"#: \\folder/a.bwf");
}

TEST(Catalogue, SaysWhatIsWrongWithAList) {
  const auto errors = [](const std::string& text) {
    const auto lists = parse_catalogue(text, "c");
    return lists ? "none" : lists.error().front().text();
  };
  const std::string rest = ", category: ads, licence: MIT, homepage: \"https://h.test/\"}]";
  EXPECT_EQ(errors("lists: [{name: a, url: \"https://h.test/a\"" + rest), "none");
  EXPECT_EQ(errors("lists: [{name: a, url: \"http://h.test/a\"" + rest), "c:1:24: lists[0].url: must be an https URL");
  EXPECT_NE(errors("lists: [{name: .a, url: \"https://h.test/a\"" + rest).find("must not begin with a dot"),
            std::string::npos);
  EXPECT_NE(errors("lists: [{name: ../a, url: \"https://h.test/a\"" + rest).find("expected"), std::string::npos);
  EXPECT_NE(errors("lists: [{name: a}]").find("missing"), std::string::npos);
  EXPECT_NE(errors("other: 1").find("unknown key"), std::string::npos);
  EXPECT_EQ(errors(""), "none");
}

}  // namespace
}  // namespace bloomwall::conf
