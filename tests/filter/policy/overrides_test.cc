// Exceptions over a policy: before allow lists and filters, the most specific first, then the newest, until they end.
// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/overrides.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/policy/policy_maker.h"
#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

// "allow ENTRY [@filter...]" or "deny ENTRY", the older ones first; "ended " before it: it has.
std::vector<Override> made_of(const std::vector<std::string_view>& lines) {
  std::vector<Override> out;
  for (std::string_view line : lines) {
    Override exception;
    exception.id = out.size() + 1;
    const auto word = [&] {
      const std::size_t end = std::min(line.find(' '), line.size());
      const std::string_view first = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
      return first;
    };
    std::string_view action = word();
    exception.until = std::time(nullptr) + 3600;
    if (action == "ended") {
      exception.until = std::time(nullptr) - 1;
      action = word();
    }
    exception.action = action == "deny" ? Override::Action::deny : Override::Action::allow;
    const std::string_view entry = word();
    const auto read = read_override(entry, exception);
    EXPECT_TRUE(read.has_value()) << entry;
    while (!line.empty()) exception.filters.emplace_back(word().substr(1));
    out.push_back(std::move(exception));
  }
  return out;
}

struct Row {
  std::string_view url, says;
};
struct Case {
  std::string_view name;
  std::vector<std::string_view> exceptions;
  std::vector<Row> rows;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

std::vector<TestFilter> filters() {
  return {{.name = "watch", .entries = {"S watched.test"}, .action = kMonitor},
          {.name = "ads", .entries = {"S both.test", "S ads.test", "U site.test/evil", "U site.test/a"}},
          {.name = "malware", .entries = {"S both.test", "S bad.test"}}};
}

class OverrideRules : public testing::TestWithParam<Case> {};

TEST_P(OverrideRules, GiveTheseVerdicts) {
  PolicyMaker made(filters(), "free.test\n");
  const auto before = made.policy;
  made.policy = before->with(made_of(GetParam().exceptions));
  for (const Row& row : GetParam().rows) {
    EXPECT_EQ(made.say(row.url), row.says) << row.url;
    const Story story = made.policy->explain(made.canonicaliser.url(row.url));
    EXPECT_EQ(PolicyMaker::say(story.verdict), row.says) << "explained: " << row.url;
  }
  made.policy = before->with({});
  EXPECT_EQ(made.say("http://ads.test/"), "blocked listed ads S ads.test") << "all are gone";
}

INSTANTIATE_TEST_SUITE_P(
    All, OverrideRules,
    testing::Values(Case{"AnAllowFreesFromEveryFilter",
                         {"allow both.test"},
                         {{"http://both.test/x", "allowed excepted S both.test"},
                          {"http://www.both.test/", "allowed excepted S both.test"},
                          {"http://bad.test/", "blocked listed malware S bad.test"}}},
                    Case{"ADenyBlocksWhatNoFilterHolds",
                         {"deny plain.test"},
                         {{"http://a.plain.test/", "blocked denied exceptions S plain.test"},
                          {"http://ok.test/", "allowed unlisted"}}},
                    Case{"ADenyComesBeforeAllowLists",
                         {"deny free.test"},
                         {{"http://free.test/", "blocked denied exceptions S free.test"}}},
                    Case{"AnAllowForOneFilterLeavesTheOthers",
                         {"allow both.test @ads", "allow ads.test @ads @nobody", "allow bad.test @nobody"},
                         {{"http://both.test/", "blocked listed malware S both.test"},
                          {"http://ads.test/", "allowed excepted S ads.test"},
                          {"http://bad.test/", "blocked listed malware S bad.test"}}},
                    Case{"TheLongerHostDecides",
                         {"deny example.test", "allow docs.example.test"},
                         {{"http://docs.example.test/", "allowed excepted S docs.example.test"},
                          {"http://example.test/", "blocked denied exceptions S example.test"}}},
                    Case{"WhateverWasMadeFirst",
                         {"allow docs.example.test", "deny example.test"},
                         {{"http://docs.example.test/", "allowed excepted S docs.example.test"},
                          {"http://example.test/", "blocked denied exceptions S example.test"}}},
                    Case{"AQueryThenAPathThenTheDeeperFolderThenTheHost",
                         {"allow http://h.test/a/b?q", "deny http://h.test/a/b", "allow http://h.test/a/",
                          "deny http://h.test/x/", "allow http://h.test/x/y/", "deny h.test"},
                         {{"http://h.test/a/b?q", "allowed excepted Q h.test/a/b?q"},
                          {"http://h.test/a/b", "blocked denied exceptions U h.test/a/b"},
                          {"http://h.test/a/c", "allowed excepted D h.test/a/"},
                          {"http://h.test/x/y/z", "allowed excepted D h.test/x/y/"},
                          {"http://h.test/x/z", "blocked denied exceptions D h.test/x/"},
                          {"http://h.test/", "blocked denied exceptions S h.test"}}},
                    Case{"OfEqualOnesTheNewest",
                         {"deny same.test", "allow same.test"},
                         {{"http://same.test/", "allowed excepted S same.test"}}},
                    Case{"WhatHasEndedIsNotAsked",
                         {"allow both.test", "ended deny both.test", "ended allow bad.test"},
                         {{"http://both.test/", "allowed excepted S both.test"},
                          {"http://bad.test/", "blocked listed malware S bad.test"}}},
                    Case{"AMonitoredHostIsNotEvenReported",
                         {"allow watched.test"},
                         {{"http://watched.test/", "allowed excepted S watched.test"}}},
                    // Each reading of an ambiguous path is judged by itself: the one that is denied, or listed, counts.
                    Case{"EachFormByItself",
                         {"allow http://site.test/x"},
                         {{"http://site.test/x", "allowed excepted U site.test/x"},
                          {"http://site.test/x/..%2fevil", "blocked listed ads U site.test/evil"}}},
                    Case{"ParametersOfAPathThatIsAllowed",
                         {"allow http://site.test/a;b"},
                         {{"http://site.test/a;b", "allowed excepted U site.test/a;b"},
                          {"http://site.test/a", "blocked listed ads U site.test/a"}}},
                    Case{"ParametersOfAPathThatIsAllowedForOneFilter",
                         {"allow http://site.test/a;b @ads"},
                         {{"http://site.test/a;b", "allowed excepted U site.test/a;b"},
                          {"http://site.test/a;c", "blocked listed ads U site.test/a"}}},
                    Case{"ParametersOfAPathBelowAHostThatIsDenied",
                         {"deny site.test", "allow http://site.test/a;b"},
                         {{"http://site.test/a;b", "allowed excepted U site.test/a;b"},
                          {"http://site.test/a", "blocked denied exceptions S site.test"}}},
                    Case{"ParametersOfAPathThatIsDeniedWithoutThem",
                         {"allow http://site.test/a;b", "deny http://site.test/x"},
                         {{"http://site.test/x;b", "blocked denied exceptions U site.test/x"}}},
                    Case{"Addresses",
                         {"deny 192.0.2.7", "deny [2001:db8::1]"},
                         {{"http://192.0.2.7/", "blocked denied exceptions X 192.0.2.7"},
                          {"http://3221225991/", "blocked denied exceptions X 192.0.2.7"},
                          {"http://[2001:db8:0::1]/", "blocked denied exceptions X [2001:db8::1]"},
                          {"http://192.0.2.8/", "allowed unlisted"}}}),
    [](const auto& test) { return std::string(test.param.name); });

// A host alone is asked for host entries only.
TEST(Overrides, OfAHostAlone) {
  PolicyMaker made(filters(), "");
  made.policy = made.policy->with(made_of({"allow both.test", "deny plain.test", "deny http://paths.test/a"}));
  EXPECT_EQ(made.say_host("both.test"), "allowed excepted S both.test");
  EXPECT_EQ(made.say_host("www.plain.test"), "blocked denied exceptions S plain.test");
  EXPECT_EQ(made.say_host("paths.test"), "allowed unlisted");
}

TEST(Overrides, FreeTheAddressThatIsDialled) {
  PolicyMaker made({{.name = "nets", .entries = {"N 192.0.2.0/24", "S listed.test"}}}, "");
  const IpAddress address = read_address("192.0.2.9").value();
  const auto say = [&](std::string_view url) {
    return PolicyMaker::say(made.policy->judge_address(address, made.canonicaliser.url(url), Scope::url));
  };
  EXPECT_EQ(say("http://name.test/"), "blocked listed nets N 192.0.2.0/24");
  made.policy = made.policy->with(made_of({"allow name.test @nets", "allow http://other.test/a"}));
  EXPECT_EQ(say("http://name.test/"), "allowed excepted S name.test");
  EXPECT_EQ(say("http://other.test/a"), "allowed excepted U other.test/a");
  EXPECT_EQ(say("http://other.test/"), "blocked listed nets N 192.0.2.0/24");
}

TEST(Overrides, RefuseWhatAnAllowListRefuses) {
  for (const std::string_view text : {"", "http://", "com", "http://h.test/a%2fb/../c", "http://h.test/#x", "a b"}) {
    Override exception;
    EXPECT_FALSE(read_override(text, exception).has_value()) << text;
  }
}

// An independent reading of the rule, over random exceptions and URLs of few names, so that many match.
class NaiveReading {
 public:
  explicit NaiveReading(const std::vector<Override>& all) : all_(all) {}
  // Whether URLs are denied on the host or on a parent of it.
  bool denies_urls_on(const std::string& host) const {
    return std::ranges::any_of(all_, [&](const Override& exception) {
      const std::size_t slash = exception.entry.find('/');
      const std::string its_host = exception.entry.substr(0, slash);
      const bool covers = host == its_host || host.ends_with("." + its_host);
      return covers && slash != std::string::npos && exception.action == Override::Action::deny;
    });
  }
  const Override* decisive(const std::string& host, const std::string& path) const {
    const Override* best = nullptr;
    for (const Override& exception : all_) {
      if (!matches(exception, host, path) || !exception.filters.empty()) continue;
      if (best == nullptr || rank(exception) > rank(*best)) best = &exception;
    }
    return best;
  }

 private:
  static bool matches(const Override& exception, const std::string& host, const std::string& path) {
    const std::size_t slash = exception.entry.find('/');
    const std::string its_host = exception.entry.substr(0, slash);
    if (host != its_host && !host.ends_with("." + its_host)) return false;
    if (slash == std::string::npos) return true;
    const std::string its_path = exception.entry.substr(slash);
    return exception.kind == Kind::directory ? (path + "/").starts_with(its_path) : path == its_path;
  }
  static std::tuple<std::size_t, int, std::size_t, std::uint64_t> rank(const Override& exception) {
    const std::size_t slash = std::min(exception.entry.find('/'), exception.entry.size());
    const int kind = exception.kind == Kind::url ? 2 : exception.kind == Kind::directory ? 1 : 0;
    return {slash, kind, exception.entry.size(), exception.id};
  }
  const std::vector<Override>& all_;
};

TEST(Overrides, DecideAsANaiveReadingOfTheRule) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto pick = [&](const std::vector<std::string>& from) { return from[random() % from.size()]; };
  const std::vector<std::string> hosts{"x.test", "a.x.test", "b.a.x.test", "y.test"};
  const std::vector<std::string> paths{"", "/a", "/a/", "/a/b", "/a/b/", "/a/b/c"};
  PolicyMaker made(filters(), "");
  const auto plain = made.policy;
  for (int round = 0; round < 200; ++round) {
    std::vector<Override> all;
    for (std::uint64_t id = 1; id <= random() % 12; ++id) {
      Override exception;
      exception.id = id;
      exception.action = random() % 2 == 0 ? Override::Action::allow : Override::Action::deny;
      ASSERT_TRUE(read_override("http://" + pick(hosts) + pick(paths), exception).has_value());
      all.push_back(exception);
    }
    made.policy = plain->with(all);
    const NaiveReading naive(all);
    for (const std::string& host : hosts) {
      EXPECT_EQ(made.judge_host(host).host_has_marks, naive.denies_urls_on(host)) << host;
      EXPECT_EQ(made.judge_host(host).host_has_blocking_marks, naive.denies_urls_on(host)) << host;
      for (const std::string path : {"/", "/a", "/a/b", "/a/b/c", "/z"}) {
        const Override* const wanted = naive.decisive(host, path);
        const Verdict got = made.judge("http://" + host + path);
        const bool is_denied = wanted != nullptr && wanted->action == Override::Action::deny;
        EXPECT_EQ(got.reason, wanted == nullptr ? VerdictReason::unlisted
                              : is_denied       ? VerdictReason::denied
                                                : VerdictReason::excepted)
            << host << path;
        EXPECT_EQ(got.expression, wanted == nullptr ? "" : wanted->entry) << host << path;
      }
    }
  }
}

}  // namespace
}  // namespace bloomwall::filter
