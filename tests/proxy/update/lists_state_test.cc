// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/lists_state.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "proxy/update/update_run.h"

namespace bloomwall::proxy {
namespace {

ListsState example() {
  ListsState state;
  ListFilterState& ads = state.at("ads");
  ads.result = BuildResult::built;
  ads.message = "odd \"text\"\n\x01";
  ads.built = ads.attempted = 1'800'000'000;
  ads.is_untold = true;
  ads.entries = 7;
  ads.bytes = 4096;
  ads.sequence = 3;
  ads.seconds = 1.5;
  ads.made_of = {"a.txt-1-2.zst"};
  ads.made_with = "fpr 1e-06";
  ads.forced = 5;
  ads.forced_by = "uid 0 (root)";
  ads.sources.push_back({.url = "https://lists.test/a.txt",
                         .copy = "a.txt-1-2.zst",
                         .etag = "\"x\"",
                         .last_modified = "Mon",
                         .sha256 = "00",
                         .entries = 7,
                         .rules = 9,
                         .unusable = 2,
                         .bytes = 100,
                         .expires = 345'600,
                         .result = FetchResult::refused,
                         .guard = "shrink",
                         .message = "less",
                         .checked = 4,
                         .succeeded = 3,
                         .changed = 2,
                         .due = 5,
                         .is_told = true,
                         .failures = 1,
                         .counts = {1, 2, 3, 4}});
  state.intermediates = ads;
  state.intermediates.filter.clear();
  state.at("malware");
  return state;
}

TEST(ListsState, ReadsBackAsItWasWritten) {
  const auto again = parse_lists_state(lists_state_text(example()));
  ASSERT_TRUE(again.has_value()) << again.error();
  EXPECT_EQ(*again, example());
}

TEST(ListsState, OctetsThatAreNoTextDoNotMakeItUnreadable) {
  ListsState state = example();
  state.filters.front().message = "\xff\xfe";
  EXPECT_TRUE(parse_lists_state(lists_state_text(state)).has_value());
}

TEST(ListsState, RefusesWhatItDidNotWrite) {
  const std::string_view cases[] = {
      "",
      "[]",
      "{",
      "{}",
      R"({"version":2,"filters":[]})",
      R"({"version":1,"filters":{}})",
      R"({"version":1,"filters":[1]})",
      R"({"version":1,"filters":[{"entries":-1}]})",
      R"({"version":1,"filters":[{"entries":1.5}]})",
      R"({"version":1,"filters":[{"built":18446744073709551615}]})",
      R"({"version":1,"filters":[{"seconds":-1}]})",
      R"({"version":1,"filters":[{"result":"perfect"}]})",
      R"({"version":1,"filters":[{"made_of":["../../etc/passwd"]}]})",
      R"({"version":1,"filters":[{"made_of":[7]}]})",
      R"({"version":1,"filters":[{"sources":[{"copy":"a/b"}]}]})",
      R"({"version":1,"filters":[{"sources":[{"copy":".."}]}]})",
      R"({"version":1,"filters":[{"sources":[{"failures":4294967296}]}]})",
      R"({"version":1,"filters":[{"sources":[{"is_told":1}]}]})",
  };
  for (const auto text : cases) EXPECT_FALSE(parse_lists_state(text).has_value()) << text;
  EXPECT_FALSE(
      parse_lists_state(R"({"version":1,"filters":[{"message":")" + std::string(kMostStateText + 1, 'x') + "\"}]}"));
}

TEST(ListsState, IsAsFreshAsTheListThatIsBehindMost) {
  ListFilterState filter;
  EXPECT_EQ(fresh_at(filter), 0);
  filter.sources = {{.url = "a", .succeeded = 9}, {.url = "b", .succeeded = 5}};
  EXPECT_EQ(fresh_at(filter), 5);
  filter.sources.push_back({.url = "c"});
  EXPECT_EQ(fresh_at(filter), 0);
}

TEST(ListsState, CopiesOfNoFilterLieOutsideOfTheFolder) {
  EXPECT_EQ(copies_of("/lists", "ads"), "/lists/ads.lists");
  EXPECT_EQ(copies_of("/lists", ".."), "/lists/...lists");
  EXPECT_NE(copies_of("/lists", kListsFile), std::filesystem::path("/lists") / kListsFile);
}

class InFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "bloomwall-lists-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(InFolder, WhereNothingWasWrittenNothingIsKnown) {
  EXPECT_EQ(*read_lists_state(folder_), ListsState{});
  EXPECT_EQ(*read_lists_state(folder_ / "none"), ListsState{});
  ASSERT_TRUE(write_lists_state(folder_, example()).has_value());
  EXPECT_EQ(*read_lists_state(folder_), example());
}

TEST_F(InFolder, WishIsTakenOnce) {
  EXPECT_FALSE(has_wish(folder_));
  EXPECT_FALSE(take_wish(folder_).has_value());
  ASSERT_TRUE(leave_wish(folder_ / "new", {.names = {"ads"}, .force = true, .who = "root"}).has_value());
  EXPECT_TRUE(has_wish(folder_ / "new"));
  const auto wish = take_wish(folder_ / "new");
  ASSERT_TRUE(wish.has_value());
  EXPECT_EQ(wish->names, std::vector<std::string>{"ads"});
  EXPECT_TRUE(wish->force);
  EXPECT_EQ(wish->who, "root");
  EXPECT_FALSE(has_wish(folder_ / "new"));
}

using Wishes = std::vector<std::pair<std::vector<std::string>, bool>>;

TEST_F(InFolder, WishesThatComeBeforeTheRunAreKeptAll) {
  const struct {
    const char* name;
    Wishes left, taken;
  } rows[] = {
      {"Joined", {{{"ads"}, false}, {{"games"}, false}, {{"ads"}, false}}, {{{"ads", "games"}, false}}},
      {"AllHasEach", {{{"ads"}, false}, {{}, false}, {{"games"}, false}}, {{{}, false}}},
      {"GuardsAreOverruledForNoOther", {{{"ads"}, false}, {{"games"}, true}}, {{{"ads"}, false}, {{"games"}, true}}},
      {"NorForAll", {{{"games"}, true}, {{}, false}, {{"ads"}, true}}, {{{"games", "ads"}, true}, {{}, false}}},
  };
  for (const auto& row : rows) {
    for (const auto& [names, force] : row.left) {
      ASSERT_TRUE(leave_wish(folder_, {.names = names, .force = force, .who = names.empty() ? "" : names[0]}));
    }
    Wishes taken;
    while (const auto wish = take_wish(folder_)) taken.emplace_back(wish->names, wish->force);
    EXPECT_EQ(taken, row.taken) << row.name;
    EXPECT_FALSE(has_wish(folder_)) << row.name;
  }
}

TEST_F(InFolder, WishesThatFindNoRoomAreRefusedAndTheOthersStay) {
  ASSERT_TRUE(leave_wish(folder_, {.names = {"ads"}}));
  EXPECT_FALSE(leave_wish(folder_, {.names = {std::string(70'000, 'x')}}));
  EXPECT_EQ(take_wish(folder_)->names, std::vector<std::string>{"ads"});
}

TEST_F(InFolder, WishThatCannotBeUnderstoodIsGone) {
  for (const char* const text :
       {"{", "[]", R"({"filters":[1]})", R"({"filters":7})", "", R"({"filters":[1],"next":{"filters":["ads"]}})"}) {
    std::ofstream(folder_ / kWishFile) << text;
    EXPECT_FALSE(take_wish(folder_).has_value()) << text;
    EXPECT_FALSE(has_wish(folder_)) << text;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
