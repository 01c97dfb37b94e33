// The order of a verdict: forms, allow lists, filters as configured, deltas before bits, the worst over the forms.
// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "tests/filter/policy/policy_maker.h"

namespace bloomwall::filter {
namespace {

struct PolicyRow {
  std::string_view url, says;
};

struct PolicyCase {
  std::string_view name;
  std::vector<TestFilter> filters;
  std::string_view allow;
  std::vector<PolicyRow> rows;
};

void PrintTo(const PolicyCase& test, std::ostream* out) { *out << test.name; }

class VerdictRules : public testing::TestWithParam<PolicyCase> {};

TEST_P(VerdictRules, GiveTheseVerdicts) {
  PolicyMaker policy(GetParam().filters, GetParam().allow);
  for (const PolicyRow& row : GetParam().rows) EXPECT_EQ(policy.say(row.url), row.says) << row.url;
}

const std::vector<TestFilter>& ads_and_malware() {
  static const std::vector<TestFilter> filters{{.name = "ads", .entries = {"S both.test", "S ads.test"}},
                                               {.name = "malware", .entries = {"S both.test", "S bad.test"}}};
  return filters;
}

INSTANTIATE_TEST_SUITE_P(
    Plain, VerdictRules,
    testing::Values(PolicyCase{"NoFilters", {}, "", {{"http://example.com/", "allowed unlisted"}}},
                    PolicyCase{"ListedAndUnlisted",
                               {{.name = "f", .entries = {"S bad.test", "U shop.test/evil", "D shop.test/dir/"}}},
                               "",
                               {{"http://bad.test/", "blocked listed f S bad.test"},
                                {"https://www.bad.test:8443/x?y#z", "blocked listed f S bad.test"},
                                {"http://shop.test/evil?x", "blocked listed f U shop.test/evil"},
                                {"http://shop.test/dir", "blocked listed f D shop.test/dir/"},
                                {"http://shop.test/sibling", "allowed unlisted"},
                                {"http://shop.test/", "allowed unlisted"}}},
                    PolicyCase{"ARejectedUrlIsRejected",
                               {{.name = "f", .entries = {"S bad.test"}}},
                               "bad.test\n",
                               {{"http://user@bad.test/", "rejected bad_url"}, {"http:///", "rejected bad_url"}}},
                    PolicyCase{"TheFirstBlockingFilterIsNamed",
                               ads_and_malware(),
                               "",
                               {{"both.test", "blocked listed ads S both.test"},
                                {"bad.test", "blocked listed malware S bad.test"}}}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(Allow, VerdictRules,
                         testing::Values(PolicyCase{"AllowBeatsBlock",
                                                    {{.name = "f", .entries = {"S bad.test"}}},
                                                    "www.bad.test\n",
                                                    {{"bad.test", "blocked listed f S bad.test"},
                                                     {"www.bad.test/x", "allowed allow_list S www.bad.test"},
                                                     {"a.www.bad.test", "allowed allow_list S www.bad.test"}}},
                                         PolicyCase{"AnAllowedUrlUnderABlockedHost",
                                                    {{.name = "f", .entries = {"S bad.test"}}},
                                                    "http://bad.test/good/\nhttp://bad.test/page\n",
                                                    {{"bad.test/good/x", "allowed allow_list D bad.test/good/"},
                                                     {"bad.test/page?q", "allowed allow_list U bad.test/page"},
                                                     {"bad.test/", "blocked listed f S bad.test"},
                                                     {"bad.test/page/x", "blocked listed f S bad.test"}}},
                                         PolicyCase{"ANamedFilterAloneIsOverruled",
                                                    ads_and_malware(),
                                                    "both.test @ads\nads.test @ads\nbad.test @ads\n",
                                                    {{"both.test", "blocked listed malware S both.test"},
                                                     {"ads.test", "allowed allow_list S ads.test"},
                                                     {"bad.test", "blocked listed malware S bad.test"}}},
                                         PolicyCase{"AllNamedFiltersAreOverruled",
                                                    ads_and_malware(),
                                                    "both.test @ads @malware\n",
                                                    {{"x.both.test", "allowed allow_list S both.test"}}},
                                         PolicyCase{"TwoEntriesMayOverruleOneFilterEach",
                                                    ads_and_malware(),
                                                    "both.test @ads\nhttp://both.test/x @malware\n",
                                                    {{"both.test/x", "allowed allow_list S both.test"},
                                                     {"both.test/y", "blocked listed malware S both.test"}}},
                                         PolicyCase{"AllowWithoutANameIsAskedBeforeAnyFilter",
                                                    ads_and_malware(),
                                                    "both.test\n",
                                                    {{"both.test", "allowed allow_list S both.test"}}},
                                         PolicyCase{"AllowBeatsAnAddedEntry",
                                                    {{.name = "f", .entries = {"S x.test"}, .changes = "+new.test\n"}},
                                                    "good.new.test\n",
                                                    {{"new.test", "blocked delta f S new.test"},
                                                     {"good.new.test", "allowed allow_list S good.new.test"}}}),
                         [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Monitor, VerdictRules,
    testing::Values(
        PolicyCase{"MonitorAloneIsReported",
                   {{.name = "m", .entries = {"S x.test"}, .action = kMonitor}},
                   "",
                   {{"x.test", "monitored listed m S x.test"}}},
        PolicyCase{"ABlockAfterAMonitorWins",
                   {{.name = "m", .entries = {"S x.test", "S y.test"}, .action = kMonitor},
                    {.name = "b", .entries = {"S x.test"}}},
                   "",
                   {{"x.test", "blocked listed b S x.test"}, {"y.test", "monitored listed m S y.test"}}},
        PolicyCase{"TheFirstOfTwoMonitors",
                   {{.name = "m1", .entries = {"S x.test"}, .action = kMonitor},
                    {.name = "m2", .entries = {"S x.test", "S y.test"}, .action = kMonitor}},
                   "",
                   {{"x.test", "monitored listed m1 S x.test"}, {"y.test", "monitored listed m2 S y.test"}}},
        PolicyCase{"AnOverruledMonitorIsNot",
                   {{.name = "m", .entries = {"S x.test"}, .action = kMonitor}, {.name = "b", .entries = {"S z.test"}}},
                   "x.test @m\n",
                   {{"x.test", "allowed allow_list S x.test"}}}),
    [](const auto& row) { return std::string(row.param.name); });

// "/evil/%252e%252e/x" is /x and, for an origin that decodes once, /evil/../x.
INSTANTIATE_TEST_SUITE_P(
    Forms, VerdictRules,
    testing::Values(PolicyCase{"BlockedIfAnyFormIsListed",
                               {{.name = "f", .entries = {"D a.test/evil/", "U b.test/x"}}},
                               "",
                               {{"http://a.test/evil/%252e%252e/x", "blocked listed f D a.test/evil/"},
                                {"http://b.test/evil/%252e%252e/x", "blocked listed f U b.test/x"},
                                {"http://c.test/evil/%252e%252e/x", "allowed unlisted"}}},
                    PolicyCase{"AllowedOnlyIfEveryFormIsAllowed",
                               {{.name = "f", .entries = {"S a.test"}}},
                               "http://a.test/x\n",
                               {{"http://a.test/x", "allowed allow_list U a.test/x"},
                                {"http://a.test/evil/%252e%252e/x", "blocked listed f S a.test"}}},
                    PolicyCase{"EveryFormAllowed",
                               {{.name = "f", .entries = {"S a.test"}}},
                               "a.test/x\na.test/evil/\n",
                               {{"http://a.test/evil/%252e%252e/x", "allowed allow_list U a.test/x"}}},
                    PolicyCase{"TheWorstFormDecides",
                               {{.name = "m", .entries = {"U a.test/x"}, .action = kMonitor},
                                {.name = "b", .entries = {"D a.test/evil/"}}},
                               "",
                               {{"http://a.test/evil/%252e%252e/x", "blocked listed b D a.test/evil/"}}}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Deltas, VerdictRules,
    testing::Values(PolicyCase{"RemovedThenFound",
                               {{.name = "f", .entries = {"S x.test", "S y.test"}, .changes = "-x.test\n+z.test\n"}},
                               "",
                               {{"x.test", "allowed unlisted"},
                                {"y.test", "blocked listed f S y.test"},
                                {"z.test", "blocked delta f S z.test"}}},
                    PolicyCase{"EachFilterHasItsOwn",
                               {{.name = "a", .entries = {"S x.test"}, .changes = "-x.test\n"},
                                {.name = "b", .entries = {"S x.test"}}},
                               "",
                               {{"x.test", "blocked listed b S x.test"}}},
                    PolicyCase{"LastLineWins",
                               {{.name = "f", .entries = {"S x.test"}, .changes = "-x.test\n+x.test\n"}},
                               "",
                               {{"x.test", "blocked delta f S x.test"}}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Policy, TheDecidingFormIsNumbered) {
  PolicyMaker policy({{.name = "f", .entries = {"D a.test/evil/", "U b.test/x"}}}, "");
  EXPECT_EQ(policy.judge("http://a.test/evil/%252e%252e/x").form, 1);
  EXPECT_EQ(policy.judge("http://b.test/evil/%252e%252e/x").form, 0);
}

TEST(Policy, TenFiltersOfEqualAndOfDifferentSeriesAreAllAsked) {
  for (const bool same_series : {true, false}) {
    std::vector<TestFilter> filters;
    for (int i = 0; i < 20; ++i) {
      filters.push_back({.name = "f" + std::to_string(i),
                         .entries = {"S h" + std::to_string(i) + ".test", "D shared.test/d" + std::to_string(i) + "/"},
                         .series = static_cast<std::uint8_t>(same_series ? 99 : i % 13 + 1)});
    }
    PolicyMaker policy(filters, "never.test\n");
    for (int i = 0; i < 20; ++i) {
      const std::string n = std::to_string(i);
      EXPECT_EQ(policy.say("x.h" + n + ".test"), "blocked listed f" + n + " S h" + n + ".test");
      EXPECT_EQ(policy.say("shared.test/d" + n + "/x"), "blocked listed f" + n + " D shared.test/d" + n + "/");
    }
    EXPECT_EQ(policy.say("h20.test"), "allowed unlisted");
  }
}

TEST(Policy, OfSeveralFormsAndManyFiltersAsksEachFormAnew) {
  std::vector<TestFilter> filters;
  for (int i = 0; i < 11; ++i)
    filters.push_back({.name = "f" + std::to_string(i), .entries = {"U a.test/" + std::to_string(i)}});
  filters[10].entries = {"D a.test/evil/"};
  PolicyMaker policy(filters, "");
  EXPECT_EQ(policy.say("http://a.test/evil/%252e%252e/x"), "blocked listed f10 D a.test/evil/");
}

// To nginx '\' is no separator: what it serves from /evil/m.exe is judged as that, whatever else the URL may be.
TEST(Policy, OfAnEscapedBackslashAsksWhatServersToWhichItIsDataServe) {
  PolicyMaker policy({{.name = "f", .entries = {"U a.test/evil/m.exe", "D a.test/dir/"}}}, "http://a.test/m.exe\n");
  EXPECT_EQ(policy.say("http://a.test/evil/%5c../..%2fm.exe"), "blocked listed f U a.test/evil/m.exe");
  EXPECT_EQ(policy.say("http://a.test/dir%2f..%5cx"), "blocked listed f D a.test/dir/");
  EXPECT_EQ(policy.say("http://a.test/evil/%5c../..%2fn.exe"), "allowed unlisted");
  EXPECT_EQ(policy.say("http://a.test/m.exe"), "allowed allow_list U a.test/m.exe");
}

TEST(Policy, CountsTheQuestionsPutToBits) {
  PolicyMaker policy({{.name = "f", .entries = {"S a.test", "U b.test/x"}}, {.name = "g", .entries = {"S b.c.test"}}},
                     "");
  EXPECT_EQ(policy.judge("x.y.test").questions, 2U * 1 + 1U) << "S and the mark of y.test; S of x.y.test";
  EXPECT_EQ(policy.judge("a.test").questions, 2U) << "g is not asked";
  EXPECT_EQ(policy.judge("b.test/y").questions, 2U + 1U);
}

TEST(PolicyOfAHost, AsksHostKindsAlone) {
  PolicyMaker policy({{.name = "f", .entries = {"S bad.test", "X exact.test", "U shop.test/evil", "D shop.test/d/"}}},
                     "http://bad.test/ok\ngood.bad.test\n");
  EXPECT_EQ(policy.say_host("www.bad.test"), "blocked listed f S bad.test");
  EXPECT_EQ(policy.say_host("bad.test"), "blocked listed f S bad.test") << "an allowed URL opens no host";
  EXPECT_EQ(policy.say_host("good.bad.test"), "allowed allow_list S good.bad.test");
  EXPECT_EQ(policy.say_host("exact.test."), "blocked listed f X exact.test");
  EXPECT_EQ(policy.say_host("www.exact.test"), "allowed unlisted");
  EXPECT_EQ(policy.say_host("shop.test"), "allowed unlisted") << "a URL entry never blocks its host";
  EXPECT_EQ(policy.say_host("a b"), "rejected bad_url");
}

TEST(PolicyOfAHost, NotesThatUrlEntriesCouldNotBeAsked) {
  PolicyMaker policy(
      {{.name = "f", .entries = {"S bad.test", "U shop.test/evil"}},
       {.name = "m", .entries = {"Q watched.test/?x"}, .action = kMonitor, .changes = "+http://added.test/x\n"}},
      "allowed.shop.test\n");
  EXPECT_TRUE(policy.judge_host("shop.test").host_has_marks);
  EXPECT_TRUE(policy.judge_host("cdn.shop.test").host_has_marks);
  EXPECT_TRUE(policy.judge_host("watched.test").host_has_marks);
  EXPECT_TRUE(policy.judge_host("added.test").host_has_marks);
  EXPECT_FALSE(policy.judge_host("plain.test").host_has_marks);
  EXPECT_FALSE(policy.judge_host("allowed.shop.test").host_has_marks) << "nothing is to be enforced there";
  EXPECT_FALSE(policy.judge("shop.test/x").host_has_marks) << "a whole URL has been asked";
}

// Request heads are limited to some 64 KiB; the longest host and the deepest path in it, on a host whose every parent
// is marked at every depth.
TEST(Policy, HostileUrlsCostTimeLinearInTheirLength) {
  TestFilter filter{.name = "f", .entries = {}};
  std::string host = "a";
  for (int i = 1; i < 127; ++i) host += ".a";
  std::string deep;
  for (int d = 1; d <= 40; ++d) deep += "/z";
  for (std::size_t at = 0; at < host.size(); at += 2) {
    filter.entries.push_back("D " + host.substr(at) + deep + "/");
    filter.entries.push_back("U " + host.substr(at) + "/z");
  }
  PolicyMaker policy({filter, {.name = "g", .entries = {"S unrelated.test"}, .changes = "+http://" + host + "/q/\n"}},
                     "http://" + host + "/ok/\n");
  std::string path;
  for (int i = 0; i < 30000; ++i) path += "/a";
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) {
    const Verdict verdict = policy.judge("http://" + host + path + "?q");
    EXPECT_EQ(verdict.decision, Decision::allowed);
    EXPECT_LE(verdict.questions, 127U * (2 + 2 + 1 + 25) + 127) << "depths 16 to 40 and no deeper";
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace bloomwall::filter
