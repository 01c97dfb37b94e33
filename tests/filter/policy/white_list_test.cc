// Filters with the action allow, and what Otherwise says of the rest.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/explain.h"
#include "filter/policy/overrides.h"
#include "filter/policy/policy.h"
#include "tests/filter/policy/naive_model.h"

namespace bloomwall::filter {
namespace {

constexpr auto kAllow = FilterAction::allow;
constexpr auto kDeny = Otherwise::deny;

struct WhiteListRow {
  std::string_view url, says;
};
struct WhiteListCase {
  std::string_view name;
  std::vector<TestFilter> filters;
  std::string_view allow;
  Otherwise otherwise;
  std::vector<WhiteListRow> rows;
};
void PrintTo(const WhiteListCase& test, std::ostream* out) { *out << test.name; }

class WhiteList : public testing::TestWithParam<WhiteListCase> {};

TEST_P(WhiteList, GivesTheseVerdicts) {
  PolicyMaker policy(GetParam().filters, GetParam().allow, GetParam().otherwise);
  for (const WhiteListRow& row : GetParam().rows) {
    EXPECT_EQ(policy.say(row.url), row.says) << row.url;
    const Story story = policy.policy->explain(policy.canonicaliser.url(row.url));
    EXPECT_EQ(PolicyMaker::say(story.verdict), row.says) << "the story of " << row.url;
  }
}

// "good" between two block lists, and a list that monitors in front.
std::vector<TestFilter> four_filters() {
  return {{.name = "watch", .entries = {"S seen.test"}, .action = kMonitor},
          {.name = "malware", .entries = {"S evil.good.test", "S bad.test"}},
          {.name = "good",
           .entries = {"S good.test", "S bad.test", "S seen.test", "U shop.test/a", "D shop.test/dir/"},
           .action = kAllow,
           .changes = "+new.test\n-old.good.test\n"},
          {.name = "ads", .entries = {"S ads.good.test", "S shop.test", "S old.good.test", "S other.test"}}};
}

INSTANTIATE_TEST_SUITE_P(
    Rules, WhiteList,
    testing::Values(WhiteListCase{"TheFirstThatBlocksOrAllowsDecides",
                                  four_filters(),
                                  "",
                                  Otherwise::allow,
                                  {{"http://good.test/", "allowed allow_filter good S good.test"},
                                   {"http://ads.good.test/", "allowed allow_filter good S good.test"},
                                   {"http://evil.good.test/", "blocked listed malware S evil.good.test"},
                                   {"http://bad.test/", "blocked listed malware S bad.test"},
                                   {"http://shop.test/a?q", "allowed allow_filter good U shop.test/a"},
                                   {"http://shop.test/dir/x", "allowed allow_filter good D shop.test/dir/"},
                                   {"http://shop.test/b", "blocked listed ads S shop.test"},
                                   {"http://new.test/", "allowed allow_filter good S new.test"},
                                   {"http://other.test/", "blocked listed ads S other.test"},
                                   {"http://none.test/", "allowed unlisted"}}},
                    WhiteListCase{"WithDenyOnlyWhatItHoldsPasses",
                                  four_filters(),
                                  "",
                                  kDeny,
                                  {{"http://good.test/", "allowed allow_filter good S good.test"},
                                   {"http://shop.test/a", "allowed allow_filter good U shop.test/a"},
                                   {"http://other.test/", "blocked listed ads S other.test"},
                                   {"http://none.test/", "blocked default_deny otherwise"},
                                   {"http://shop.test/", "blocked listed ads S shop.test"},
                                   {"http://user@good.test/", "rejected bad_url"}}},
                    WhiteListCase{"WhatIsMonitoredStaysReported",
                                  four_filters(),
                                  "",
                                  kDeny,
                                  {{"http://seen.test/", "monitored listed watch S seen.test"}}},
                    WhiteListCase{"AMonitorDoesNotLetPass",
                                  {{.name = "watch", .entries = {"S seen.test"}, .action = kMonitor}},
                                  "",
                                  kDeny,
                                  {{"http://seen.test/", "blocked default_deny otherwise"}}},
                    WhiteListCase{"AllowEntriesForEveryFilterLetPass",
                                  four_filters(),
                                  "none.test\nhttp://page.test/x\nother.test @ads\nthird.test @ads\n10.0.0.0/8\n",
                                  kDeny,
                                  {{"http://none.test/", "allowed allow_list S none.test"},
                                   {"http://page.test/x", "allowed allow_list U page.test/x"},
                                   {"http://page.test/y", "blocked default_deny otherwise"},
                                   {"http://10.1.2.3/", "allowed allow_list N 10.0.0.0/8"},
                                   {"http://other.test/", "blocked default_deny otherwise"},
                                   {"http://third.test/", "blocked default_deny otherwise"}}},
                    WhiteListCase{"AllowEntriesThatNameAWhiteListMeanNothing",
                                  four_filters(),
                                  "good.test @good\n",
                                  kDeny,
                                  {{"http://good.test/", "allowed allow_filter good S good.test"}}},
                    WhiteListCase{"NoFilters",
                                  {},
                                  "a.test\n",
                                  kDeny,
                                  {{"http://a.test/", "allowed allow_list S a.test"},
                                   {"http://b.test/", "blocked default_deny otherwise"}}},
                    WhiteListCase{"EveryFormMustBeHeld",  // "/evil/%252e%252e/x" is /x too
                                  {{.name = "good", .entries = {"U a.test/x", "D b.test/ok/"}, .action = kAllow}},
                                  "",
                                  kDeny,
                                  {{"http://a.test/x", "allowed allow_filter good U a.test/x"},
                                   {"http://a.test/evil/%252e%252e/x", "blocked default_deny otherwise"},
                                   {"http://b.test/ok/y", "allowed allow_filter good D b.test/ok/"}}},
                    WhiteListCase{"AUrlWithParametersIsWhatAServerMakesOfIt",
                                  {{.name = "good", .entries = {"U a.test/a;b", "D a.test/ok/"}, .action = kAllow}},
                                  "",
                                  kDeny,
                                  {{"http://a.test/a;b", "allowed allow_filter good U a.test/a;b"},
                                   {"http://a.test/ok/..;/evil", "blocked default_deny otherwise"}}},
                    WhiteListCase{"RangesOfAddresses",
                                  {{.name = "good", .entries = {"S g.test", "N 192.0.2.0/24"}, .action = kAllow},
                                   {.name = "drop", .entries = {"S d.test", "N 192.0.0.0/16"}}},
                                  "",
                                  kDeny,
                                  {{"http://192.0.2.1/", "allowed allow_filter good N 192.0.2.0/24"},
                                   {"http://192.0.3.1/", "blocked listed drop N 192.0.0.0/16"},
                                   {"http://198.51.100.1/", "blocked default_deny otherwise"}}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(WhiteListHosts, MustBeHeldAsHosts) {
  PolicyMaker policy(four_filters(), "http://page.test/x\n", kDeny);
  EXPECT_EQ(policy.say_host("good.test"), "allowed allow_filter good S good.test");
  EXPECT_EQ(policy.say_host("shop.test"), "blocked listed ads S shop.test") << "an entry for a URL opens no tunnel";
  EXPECT_EQ(policy.say_host("page.test"), "blocked default_deny otherwise") << "nor does an allow entry for one";
  PolicyMaker without({four_filters()[2]}, "");
  EXPECT_FALSE(without.judge_host("shop.test").host_has_marks) << "URLs of a white list are nothing to decrypt for";
}

TEST(WhiteListExceptions, ComeFirst) {
  PolicyMaker policy(four_filters(), "", kDeny);
  const auto made = [](Override::Action action, std::string_view entry, std::vector<std::string> filters) {
    Override out{.id = 1, .action = action, .kind = Kind::suffix, .entry = {}, .filters = std::move(filters)};
    EXPECT_TRUE(read_override(entry, out).has_value());
    return out;
  };
  const auto say = [&](Override one, std::string_view url) {
    policy.policy = policy.policy->with({std::move(one)});
    return policy.say(url);
  };
  EXPECT_EQ(say(made(Override::Action::allow, "none.test", {}), "http://none.test/"), "allowed excepted S none.test");
  EXPECT_EQ(say(made(Override::Action::deny, "good.test", {}), "http://good.test/"),
            "blocked denied exceptions S good.test");
  EXPECT_EQ(say(made(Override::Action::allow, "other.test", {"ads"}), "http://other.test/"),
            "blocked default_deny otherwise")
      << "against one filter only";
  EXPECT_EQ(say(made(Override::Action::allow, "good.test", {"good"}), "http://good.test/"),
            "allowed allow_filter good S good.test")
      << "a white list blocks nothing that could be overruled";
}

TEST(WhiteListFile, OnceLostItsOnErrorDecides) {
  for (const OnFilterError on_error : {OnFilterError::block, OnFilterError::allow}) {
    std::vector<TestFilter> filters = four_filters();
    filters[2].on_error = on_error;
    PolicyMaker policy(filters, "listed.test\n", kDeny);
    policy.policy->filters()[2].file->mark_lost();
    const bool blocks = on_error == OnFilterError::block;
    EXPECT_EQ(policy.say("http://new.test/"), "allowed allow_filter good S new.test") << "its delta is in memory";
    EXPECT_EQ(policy.say("http://listed.test/"), "allowed allow_list S listed.test");
    EXPECT_EQ(policy.say("http://evil.good.test/"), "blocked listed malware S evil.good.test");
    EXPECT_EQ(policy.say("http://good.test/"), blocks ? "blocked filter_lost good" : "allowed unlisted");
    EXPECT_EQ(policy.say("http://none.test/"), blocks ? "blocked filter_lost good" : "allowed unlisted");
    EXPECT_EQ(policy.say("http://other.test/"),
              blocks ? "blocked filter_lost good" : "blocked listed ads S other.test");
  }
}

TEST(WhiteListAddresses, FreeWhatIsDialledFromFiltersBehind) {
  const std::vector<TestFilter> filters{
      {.name = "early", .entries = {"S e.test", "N 203.0.113.0/24"}},
      {.name = "good", .entries = {"S good.test", "U shop.test/a;b", "N 192.0.2.0/28"}, .action = kAllow},
      {.name = "drop", .entries = {"S d.test", "N 192.0.2.0/24", "N 203.0.113.0/24"}}};
  PolicyMaker policy(filters, "", kDeny);
  EXPECT_TRUE(policy.policy->has_networks());
  const auto say = [&](std::string_view address, std::string_view url) {
    const CanonicalUrl& canonical = policy.canonicaliser.url(url);
    const RangeReading range = read_address_range(std::string(address) + "/32");
    return PolicyMaker::say(policy.policy->judge_address(range.range.first, canonical, Scope::url));
  };
  EXPECT_EQ(say("192.0.2.99", "http://none.test/"), "blocked listed drop N 192.0.2.0/24");
  EXPECT_EQ(say("192.0.2.99", "http://good.test/"), "allowed allow_filter good S good.test");
  EXPECT_EQ(say("192.0.2.5", "http://none.test/"), "allowed allow_filter good N 192.0.2.0/28");
  EXPECT_EQ(say("203.0.113.5", "http://good.test/"), "blocked listed early N 203.0.113.0/24") << "it stands in front";
  EXPECT_EQ(say("192.0.2.99", "http://shop.test/a;b"), "allowed allow_filter good U shop.test/a;b") << "both readings";
  EXPECT_EQ(say("198.51.100.7", "http://none.test/"), "allowed unlisted") << "Otherwise is not asked of addresses";
}

TEST(WhiteListErrors, AreToldTheOtherWayRound) {
  PolicyMaker policy({{.name = "block", .entries = {"S a.test"}, .claimed_keys = 9000},
                      {.name = "good", .entries = {"S b.test"}, .action = kAllow, .claimed_keys = 9000}},
                     "");
  const auto filters = policy.policy->filters();
  EXPECT_TRUE(policy.policy->has_white_list());
  EXPECT_EQ(policy.policy->predicted_error().unlisted_host, filters[0].file->header().predicted.unlisted_host.mean);
  EXPECT_EQ(policy.policy->predicted_leak().unlisted_host, filters[1].file->header().predicted.unlisted_host.mean);
  EXPECT_GT(policy.policy->predicted_leak().unlisted_host, 0);
}

class WhiteListOracle : public testing::TestWithParam<std::uint64_t> {};

// Filters of three actions in any order, either Otherwise.
TEST_P(WhiteListOracle, JudgeAgreesWithTheNaiveModel) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  Random random(GetParam());
  std::map<std::string, int> seen;
  for (const Otherwise otherwise : {Otherwise::allow, Otherwise::deny}) {
    Model model;
    model.otherwise = otherwise;
    std::vector<TestFilter> filters;
    for (std::size_t i = 0; i < 10; ++i) {  // more than are asked at once
      ModelFilter& own = model.filters.emplace_back();
      filters.push_back(random_filter(random, "f" + std::to_string(i), own));
      filters.back().entries.resize(4);
      own.bits = Entries(filters.back().entries.begin(), filters.back().entries.end());
      if (!random.one_in(6)) {
        filters.back().changes.clear();
        own.added.clear();
        own.removed.clear();
      }
      const std::size_t drawn = random.below(5);
      own.action = drawn < 2 ? kAllow : drawn < 3 ? kMonitor : FilterAction::block;
      filters.back().action = own.action;
    }
    PolicyMaker policy(filters, random_allow_list(random, filters.size(), model), otherwise);
    for (int i = 0; i < 4000; ++i) {
      const RandomUrl url = random.url();
      const auto says = [](const Verdict& verdict) {
        return std::string(to_string(verdict.decision)) + " " +
               (verdict.filter != nullptr ? verdict.filter->name : to_string(verdict.reason));
      };
      const std::string text = url.text();  // the canonical URL points there
      const CanonicalUrl& canonical = policy.canonicaliser.url(text);
      const std::string wanted = model.say(url);
      ASSERT_EQ(says(policy.policy->judge(canonical)), wanted)
          << explain_text(canonical, policy.policy->explain(canonical));
      ASSERT_EQ(says(policy.policy->explain(canonical).verdict), wanted) << "the story of " << text;
      ++seen[wanted];
    }
  }
  EXPECT_GE(seen.size(), 8U) << "the model was not exercised";
  EXPECT_GT(seen["blocked otherwise"], 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, WhiteListOracle, testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace bloomwall::filter
