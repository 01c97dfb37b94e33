// Raw keys: of all filters, of one of them, and for who must not wait for the disk.
// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/raw_verdict.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/policy.h"
#include "tests/filter/policy/policy_maker.h"
#include "tests/support/page_cache.h"

namespace bloomwall::filter {
namespace {

std::vector<TestFilter> key_filters() {
  return {{.name = "watch", .entries = {"R a", "R b", "R seen"}, .action = kMonitor},
          {.name = "good", .entries = {"R b", "R friend"}, .action = FilterAction::allow},
          {.name = "bad", .entries = {"R b", "R c"}, .changes = "+R new\n-R c\n"},
          {.name = "hosts", .entries = {"S a.test"}},
          {.name = "idle", .entries = {"R z"}, .action = FilterAction::off}};
}

TEST(RawVerdict, IsOfAllFiltersOrOfTheOneThatIsNamed) {
  PolicyMaker made(key_filters(), "", Otherwise::deny);
  std::vector<const std::byte*> absent;
  const auto say = [&](std::string_view key, std::string_view filter) {
    const std::optional<Verdict> verdict = made.policy->judge_raw_at_once(key, filter, absent);
    return verdict ? PolicyMaker::say(*verdict) : "pages";
  };
  EXPECT_EQ(say("a", ""), "blocked default_deny otherwise");
  EXPECT_EQ(say("b", ""), "monitored listed watch R b");
  EXPECT_EQ(say("friend", ""), "allowed allow_filter good R friend");
  EXPECT_EQ(say("new", ""), "blocked delta bad R new");
  for (const std::string key : {"a", "b", "c", "new", "z"}) {
    EXPECT_EQ(say(key, ""), PolicyMaker::say(made.policy->judge_raw(key))) << key;
  }
  EXPECT_EQ(say("a", "watch"), "monitored listed watch R a");
  EXPECT_EQ(say("a", "bad"), "allowed unlisted");
  EXPECT_EQ(say("b", "good"), "allowed allow_filter good R b");
  EXPECT_EQ(say("b", "bad"), "blocked listed bad R b");
  EXPECT_EQ(say("c", "bad"), "allowed unlisted") << "its delta removes it";
  EXPECT_EQ(say("new", "bad"), "blocked delta bad R new");
  EXPECT_EQ(say("a.test", "hosts"), "allowed unlisted");
  EXPECT_EQ(say("z", "idle"), "allowed unlisted");
}

TEST(RawVerdict, SaysWhichFiltersHoldRawKeys) {
  PolicyMaker made(key_filters(), "");
  EXPECT_EQ(made.policy->raw_keys_of("bad"), Policy::RawKeys::held);
  EXPECT_EQ(made.policy->raw_keys_of("watch"), Policy::RawKeys::held);
  EXPECT_EQ(made.policy->raw_keys_of("hosts"), Policy::RawKeys::none);
  EXPECT_EQ(made.policy->raw_keys_of("idle"), Policy::RawKeys::off);
  EXPECT_EQ(made.policy->raw_keys_of("other"), Policy::RawKeys::no_such_filter);
}

TEST(RawVerdict, NamesThePagesThatItWouldWaitFor) {
  const TempFolder folder;
  const std::filesystem::path file = folder / "keys.bwf";
  make_filter(file, {.entries = {"R listed"}, .raw_pages = 64});
  PolicySpec spec;
  spec.filters.push_back({.name = "keys", .file = file, .delta = {}, .memory = MemoryUse::paged});
  const auto loaded = Policy::load(spec, {.verify = true, .make_resident = true, .progress = {}});
  ASSERT_TRUE(loaded);
  const Policy& policy = **loaded;
  const std::size_t offset = policy.filters().front().file->header().find(SectionType::raw)->offset;
  std::vector<const std::byte*> absent;
  std::optional<Verdict> verdict = Verdict{};
  for (int i = 0; i < 100 && verdict; ++i) {  // a quick disk may bring the page while it is asked for
    if (!test::drop_from_memory(file, offset)) GTEST_SKIP() << "this file system keeps its pages in memory";
    verdict = policy.judge_raw_at_once("listed", {}, absent);
  }
  EXPECT_FALSE(verdict);
  ASSERT_EQ(absent.size(), 1U);
  for (int i = 0; i < 100 && !verdict; ++i) {  // and may be taken away again
    Policy::fault_in(absent);
    verdict = policy.judge_raw_at_once("listed", {}, absent);
  }
  ASSERT_TRUE(verdict);
  EXPECT_EQ(PolicyMaker::say(*verdict), "blocked listed keys R listed");
}

}  // namespace
}  // namespace bloomwall::filter
