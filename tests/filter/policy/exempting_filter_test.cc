// Filters with the action no_decrypt, and the marks that a host's verdict counts.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/overrides.h"
#include "filter/policy/policy.h"
#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

constexpr auto kExempt = FilterAction::no_decrypt;

const std::vector<TestFilter> kTlsFilters{
    {.name = "first", .entries = {"S early.test", "S bank.test"}},
    {.name = "banks",
     .entries = {"S bank.test", "X branch.example", "U shop.test/pay", "N 192.0.2.0/24"},
     .action = kExempt,
     .changes = "+added.test\n-removed.test\n"},
    {.name = "late", .entries = {"S late.test", "U marked.test/x", "U early.test/y"}},
    {.name = "more", .entries = {"S late.test", "S early.test", "S quiet.test"}, .action = kExempt},
};

TEST(ExemptingFilter, IsAskedAboutHostsAndBlocksNothing) {
  PolicyMaker policy(kTlsFilters, "");
  const struct {
    std::string_view host, says;
    bool no_decrypt, marks;
  } rows[] = {
      {"bank.test", "blocked listed first S bank.test", true, false},
      {"www.bank.test", "blocked listed first S bank.test", true, false},
      {"branch.example", "allowed unlisted", true, false},
      {"www.branch.example", "allowed unlisted", false, false},
      {"added.test", "allowed unlisted", true, false},
      {"shop.test", "allowed unlisted", false, false},  // its URLs mean nothing
      {"192.0.2.9", "allowed unlisted", true, false},
      {"198.51.100.9", "allowed unlisted", false, false},
      {"late.test", "blocked listed late S late.test", true, false},
      {"early.test", "blocked listed first S early.test", true, false},  // `late` is not asked any more
      {"marked.test", "allowed unlisted", false, true},
      {"quiet.test", "allowed unlisted", true, false},
      {"plain.test", "allowed unlisted", false, false},
  };
  for (const auto& row : rows) {
    const Verdict verdict = policy.judge_host(row.host);
    EXPECT_EQ(PolicyMaker::say(verdict), row.says) << row.host;
    EXPECT_EQ(verdict.no_decrypt, row.no_decrypt) << row.host;
    EXPECT_EQ(verdict.host_has_marks, row.marks) << row.host;
    EXPECT_EQ(PolicyMaker::say(policy.policy->explain_host(policy.canonicaliser.host(row.host)).verdict), row.says);
  }
}

TEST(ExemptingFilter, HasNoSayOnUrlsAndAddresses) {
  PolicyMaker policy(kTlsFilters, "");
  EXPECT_EQ(policy.say("http://branch.example/"), "allowed unlisted");
  EXPECT_FALSE(policy.judge("http://branch.example/").no_decrypt);
  EXPECT_EQ(policy.say("http://shop.test/pay"), "allowed unlisted");
  EXPECT_EQ(policy.say("http://192.0.2.9/"), "allowed unlisted");
  EXPECT_FALSE(policy.policy->has_networks());
  PolicyMaker without({kTlsFilters[0], kTlsFilters[2]}, "");
  for (const char* url : {"http://a.branch.example/x", "http://marked.test/x", "http://plain.test/a/b?c"}) {
    EXPECT_EQ(policy.judge(url).questions, without.judge(url).questions) << url;
  }
}

TEST(ExemptingFilter, IsOverruledByNameAlone) {
  PolicyMaker policy(kTlsFilters, "branch.example\nadded.test @banks\nlate.test\nquiet.test @more @late\n");
  EXPECT_EQ(policy.say_host("branch.example"), "allowed allow_list S branch.example");
  EXPECT_TRUE(policy.judge_host("branch.example").no_decrypt) << "an entry for every filter is about blocking";
  EXPECT_EQ(policy.say_host("late.test"), "allowed allow_list S late.test");
  EXPECT_TRUE(policy.judge_host("late.test").no_decrypt);
  EXPECT_FALSE(policy.judge_host("added.test").no_decrypt);
  EXPECT_FALSE(policy.judge_host("quiet.test").no_decrypt);
}

TEST(ExemptingFilter, HoldsUnderOverridesForEveryFilter) {
  PolicyMaker made(kTlsFilters, "");
  const auto policy =
      made.policy->with({{.id = 1, .action = Override::Action::deny, .entry = "branch.example", .filters = {}},
                         {.id = 2, .entry = "bank.test", .filters = {}},
                         {.id = 3, .entry = "quiet.test", .filters = {"more"}}});
  const auto judge = [&](std::string_view host) { return policy->judge_host(made.canonicaliser.host(host)); };
  EXPECT_EQ(judge("branch.example").decision, Decision::blocked);
  EXPECT_TRUE(judge("branch.example").no_decrypt);
  EXPECT_EQ(judge("bank.test").reason, VerdictReason::excepted);
  EXPECT_TRUE(judge("bank.test").no_decrypt);
  EXPECT_FALSE(judge("quiet.test").no_decrypt);
}

TEST(ExemptingFilter, TellsItsQuestionsInTheStoryOfAHost) {
  PolicyMaker policy(kTlsFilters, "");
  const auto yes = [&](std::string_view host) {
    std::vector<std::string> said;
    for (const AskedQuestion& asked : policy.policy->explain_host(policy.canonicaliser.host(host)).questions) {
      if (asked.answer == AskedQuestion::Answer::yes || asked.answer == AskedQuestion::Answer::added_by_delta) {
        said.push_back(asked.filter + ": " + asked.expression);
      }
    }
    return said;
  };
  EXPECT_EQ(yes("www.early.test"), (std::vector<std::string>{"first: S early.test", "more: S early.test"}));
  EXPECT_EQ(yes("added.test"), (std::vector<std::string>{"banks: S added.test"}));
  EXPECT_EQ(yes("a.marked.test"), (std::vector<std::string>{"late: mark U marked.test"}));
}

TEST(ExemptingFilter, MayStandAnywhereAmongManyFilters) {
  for (std::size_t place = 0; place < 20; ++place) {
    std::vector<TestFilter> filters;
    for (std::size_t i = 0; i < 20; ++i) {
      filters.push_back({.name = "f" + std::to_string(i),
                         .entries = {i == place ? "S bank.test" : "S listed" + std::to_string(i) + ".test"}});
      if (i == 3) filters.back().entries.push_back("S both.test");
      if (i == place) filters.back().entries.push_back("S both.test");
    }
    filters[place].action = kExempt;
    PolicyMaker policy(filters, "");
    EXPECT_TRUE(policy.judge_host("bank.test").no_decrypt) << place;
    EXPECT_EQ(policy.judge_host("bank.test").decision, Decision::allowed) << place;
    EXPECT_TRUE(policy.judge_host("both.test").no_decrypt) << place;
    EXPECT_EQ(policy.judge_host("both.test").decision, place == 3 ? Decision::allowed : Decision::blocked) << place;
    EXPECT_EQ(policy.judge_host("listed19.test").decision, place == 19 ? Decision::allowed : Decision::blocked);
  }
}

TEST(MarksOfAHost, AreToldApartByWhatTheirFilterDoes) {
  PolicyMaker policy({{.name = "b", .entries = {"U both.test/x", "D blocks.test/d/"}},
                      {.name = "m", .entries = {"U both.test/y", "Q watched.test/?q"}, .action = kMonitor},
                      {.name = "e", .entries = {"U exempt.test/z", "S other.test"}, .action = kExempt}},
                     "");
  const struct {
    std::string_view host;
    bool any, blocking;
  } rows[] = {{"both.test", true, true},     {"blocks.test", true, true},   {"a.b.blocks.test", true, true},
              {"watched.test", true, false}, {"exempt.test", false, false}, {"other.test", false, false}};
  for (const auto& row : rows) {
    const Verdict verdict = policy.judge_host(row.host);
    EXPECT_EQ(verdict.host_has_marks, row.any) << row.host;
    EXPECT_EQ(verdict.host_has_blocking_marks, row.blocking) << row.host;
  }
}

TEST(MarksOfAHost, DoNotCountOnTheLastLabelOfALongerName) {
  PolicyMaker policy({{.name = "f", .entries = {"U intranet/wiki", "S printer", "U test/x", "U a.example/y"}},
                      {.name = "d", .entries = {"S z.test"}, .changes = "+http://lonely/x\n+http://b.example/d/\n"}},
                     "");
  EXPECT_TRUE(policy.judge_host("intranet").host_has_marks);
  EXPECT_TRUE(policy.judge_host("lonely").host_has_marks);
  EXPECT_FALSE(policy.judge_host("www.intranet").host_has_marks);
  EXPECT_FALSE(policy.judge_host("a.lonely").host_has_marks);
  EXPECT_FALSE(policy.judge_host("plain.test").host_has_marks) << "an entry on test would decrypt every host in it";
  EXPECT_TRUE(policy.judge_host("a.example").host_has_marks);
  EXPECT_TRUE(policy.judge_host("www.b.example").host_has_marks);
  EXPECT_EQ(policy.say("http://www.intranet/wiki"), "blocked listed f U intranet/wiki")
      << "a URL is asked all the same";
}

}  // namespace
}  // namespace bloomwall::filter
