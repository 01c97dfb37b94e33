// Overrides for some people alone, and filters that take none.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "filter/policy/overrides.h"
#include "tests/filter/policy/policy_maker.h"
#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

using Action = Override::Action;

Override override_of(std::uint64_t id, Action action, const std::string& entry) {
  Override made;
  made.id = id;
  made.action = action;
  EXPECT_TRUE(read_override(entry, made).has_value()) << entry;
  return made;
}

Asker asker_of(std::string_view client, std::string_view user, std::string_view group) {
  return {.client = read_address(client), .user = user, .group = group};
}

std::vector<TestFilter> two_filters() {
  return {{.name = "games", .entries = {"S games.test", "S both.test", "N 192.0.2.0/24"}},
          {.name = "malware", .entries = {"S both.test", "S bad.test", "N 198.51.100.0/24"}, .takes_overrides = false}};
}

TEST(OverridesForSome, HaveTheirHostsDecryptedForThemAlone) {
  PolicyMaker made(two_filters(), "free.test\n");
  Override denied = override_of(1, Action::deny, "http://www.free.test/bad/");
  denied.group = "pupils";
  Override ended = override_of(2, Action::deny, "http://plain.test/bad");
  ended.until = 1;
  const auto policy = made.policy->with({denied, ended, override_of(3, Action::deny, "http://192.0.2.200/x"),
                                         override_of(4, Action::allow, "http://open.test/x")});
  const auto has_marks = [&](std::string_view host, std::string_view group) {
    const Asker asker{.group = group};
    return policy->judge_host(made.canonicaliser.host(host), asker).host_has_marks;
  };
  EXPECT_TRUE(has_marks("www.free.test", "pupils")) << "whatever an allow list says of the host";
  EXPECT_TRUE(has_marks("a.www.free.test", "pupils"));
  EXPECT_FALSE(has_marks("www.free.test", "teachers"));
  EXPECT_FALSE(has_marks("free.test", "pupils"));
  EXPECT_FALSE(has_marks("plain.test", "pupils")) << "it has ended";
  EXPECT_TRUE(has_marks("192.0.2.200", ""));
  EXPECT_FALSE(has_marks("192.0.2.201", ""));
  EXPECT_FALSE(has_marks("open.test", "")) << "what is allowed need not be seen";
}

TEST(OverridesForSome, CountForThemAlone) {
  PolicyMaker made(two_filters(), "");
  Override for_client = override_of(1, Action::allow, "games.test");
  for_client.client = read_address_range("10.0.0.0/30").range;
  Override for_user = override_of(2, Action::allow, "games.test");
  for_user.user = "anna";
  Override for_group = override_of(3, Action::allow, "games.test");
  for_group.group = "pupils";
  const auto is_open = [&](const Override& one, const Asker& asker) {
    const auto policy = made.policy->with({one});
    const bool is_host_open =
        policy->judge_host(made.canonicaliser.host("games.test"), asker).decision == Decision::allowed;
    EXPECT_EQ(policy->judge(made.canonicaliser.url("http://games.test/"), asker).decision == Decision::allowed,
              is_host_open);
    return is_host_open;
  };
  EXPECT_TRUE(is_open(for_client, asker_of("10.0.0.3", "", "")));
  EXPECT_FALSE(is_open(for_client, asker_of("10.0.0.4", "", "")));
  EXPECT_FALSE(is_open(for_client, asker_of("2001:db8::1", "", "")));
  EXPECT_FALSE(is_open(for_client, {})) << "nobody knows who asks";
  EXPECT_TRUE(is_open(for_user, asker_of("10.0.0.9", "anna", "")));
  EXPECT_FALSE(is_open(for_user, asker_of("10.0.0.9", "ann", "")));
  EXPECT_FALSE(is_open(for_user, {}));
  EXPECT_TRUE(is_open(for_group, asker_of("10.0.0.9", "", "pupils")));
  EXPECT_FALSE(is_open(for_group, asker_of("10.0.0.9", "", "staff")));
}

TEST(OverridesForSome, AreToldFromThoseForEverybody) {
  const PolicyMaker made(two_filters(), "");
  const Override for_all = override_of(1, Action::allow, "games.test");
  EXPECT_FALSE(made.policy->overrides_ask_who());
  EXPECT_FALSE(made.policy->with({for_all})->overrides_ask_who());
  Override for_client = override_of(2, Action::deny, "bad.test"), for_user = for_client, for_group = for_client;
  for_client.client = read_address_range("10.0.0.0/30").range;
  for_user.user = "anna";
  for_group.group = "pupils";
  for (const Override& one : {for_client, for_user, for_group}) {
    const auto policy = made.policy->with({for_all, one});
    EXPECT_TRUE(policy->overrides_ask_who());
    EXPECT_TRUE(policy->view({.actions = {kMonitor, kMonitor}})->overrides_ask_who()) << "which a view shares";
  }
}

TEST(OverridesForSome, OneForASmallerNetworkDecidesWhicheverIsNewer) {
  struct Case {
    const char *smaller, *larger, *client;
  };
  PolicyMaker made(two_filters(), "");
  const std::vector<Case> cases{{"10.0.0.1", "10.0.0.0/8", "10.0.0.1"},
                                {"10.0.1.0/24", "10.0.0.0/23", "10.0.1.7"},
                                {"10.0.0.255-10.0.1.0", "10.0.0.0/16", "10.0.1.0"},
                                {"2001:db8::/64", "2001:db8::/32", "2001:db8::1"},
                                {"2001:db8::ff-2001:db8::100", "2001:db8::/64", "2001:db8::100"}};
  for (const auto& [smaller, larger, client] : cases) {
    for (const bool is_smaller_newer : {false, true}) {
      Override denied = override_of(is_smaller_newer ? 2 : 1, Action::deny, "free.test");
      denied.client = read_address_range(smaller).range;
      if (read_address(smaller)) denied.client = range_of(*read_address(smaller));
      Override allowed = override_of(is_smaller_newer ? 1 : 2, Action::allow, "free.test");
      allowed.client = read_address_range(larger).range;
      const auto policy = made.policy->with({denied, allowed});
      EXPECT_EQ(policy->judge(made.canonicaliser.url("http://free.test/"), asker_of(client, "", "")).decision,
                Decision::blocked)
          << smaller << " in " << larger << (is_smaller_newer ? ", newer" : ", older");
    }
  }
}

TEST(OverridesForSome, AnIpv4AddressIsOneHoweverItIsWritten) {
  PolicyMaker made(two_filters(), "");
  Override one = override_of(1, Action::allow, "games.test");
  one.client = range_of(read_address("::ffff:10.0.0.1").value());
  made.policy = made.policy->with({one});
  const Verdict verdict =
      made.policy->judge(made.canonicaliser.url("http://games.test/"), asker_of("10.0.0.1", "", ""));
  EXPECT_EQ(verdict.decision, Decision::allowed);
  EXPECT_EQ(verdict.exception, 1U);
}

TEST(FilterWithoutOverrides, BlocksWhatTheyAllow) {
  PolicyMaker made(two_filters(), "free.test\nlisted.both.test\n");
  made.policy =
      made.policy->with({override_of(1, Action::allow, "both.test"), override_of(2, Action::allow, "bad.test"),
                         override_of(3, Action::allow, "games.test")});
  EXPECT_EQ(made.say("http://both.test/"), "blocked listed malware S both.test");
  EXPECT_EQ(made.judge("http://both.test/").exception, 0U);
  EXPECT_EQ(made.say("http://bad.test/"), "blocked listed malware S bad.test");
  EXPECT_EQ(made.say("http://games.test/"), "allowed excepted S games.test");
  EXPECT_EQ(made.judge("http://games.test/").exception, 3U);
  EXPECT_EQ(made.say_host("bad.test"), "blocked listed malware S bad.test");
  EXPECT_EQ(made.judge("http://listed.both.test/").decision, Decision::allowed) << "an allow list opens it";
  made.policy = made.policy->with({override_of(4, Action::deny, "games.test")});
  EXPECT_EQ(made.say("http://games.test/"), "blocked denied exceptions S games.test");
  EXPECT_EQ(made.judge("http://games.test/").exception, 4U);
}

TEST(FilterWithoutOverrides, BlocksAddressesToo) {
  PolicyMaker made(two_filters(), "");
  made.policy = made.policy->with({override_of(1, Action::allow, "name.test")});
  const auto say = [&](std::string_view address) {
    return PolicyMaker::say(
        made.policy->judge_address(*read_address(address), made.canonicaliser.host("name.test"), Scope::host));
  };
  EXPECT_EQ(say("192.0.2.1"), "allowed excepted S name.test");
  EXPECT_EQ(say("198.51.100.1"), "blocked listed malware N 198.51.100.0/24");
}

TEST(FilterWithoutOverrides, LetsAnAllowPassWhereOtherwiseDenies) {
  PolicyMaker made(two_filters(), "", Otherwise::deny);
  EXPECT_EQ(made.judge("http://new.test/").reason, VerdictReason::default_deny);
  made.policy =
      made.policy->with({override_of(1, Action::allow, "new.test"), override_of(2, Action::allow, "bad.test")});
  EXPECT_EQ(made.say("http://new.test/"), "allowed excepted S new.test");
  EXPECT_EQ(made.say("http://bad.test/"), "blocked listed malware S bad.test");
}

// What a person would do with the rules, one exception after the other.
class NaiveRules {
 public:
  NaiveRules(std::vector<Override> all, std::vector<TestFilter> filters)
      : all_(std::move(all)), filters_(std::move(filters)) {
    std::ranges::sort(all_, [](const Override& a, const Override& b) { return rank(a) > rank(b); });
  }
  // "blocked by 7", "blocked by malware", "allowed".
  std::string say(const std::string& host, const std::string& path, const Asker& asker, bool is_on_allow_list) const {
    std::vector<bool> overruled(filters_.size());
    for (const Override& made : all_) {
      if (!matches(made, host, path) || !is_for(made, asker)) continue;
      if (made.action == Action::deny) return "blocked by " + std::to_string(made.id);
      for (std::size_t f = 0; f < filters_.size(); ++f) {
        if (made.filters.empty() || std::ranges::count(made.filters, filters_[f].name) > 0) overruled[f] = true;
      }
      if (made.filters.empty()) break;
    }
    for (std::size_t f = 0; f < filters_.size(); ++f) {
      if (is_on_allow_list || (overruled[f] && filters_[f].takes_overrides)) continue;
      for (const std::string& entry : filters_[f].entries) {
        if (is_below(host, entry.substr(2))) return "blocked by " + filters_[f].name;
      }
    }
    return "allowed";
  }

 private:
  static bool is_below(const std::string& host, const std::string& parent) {
    return host == parent || host.ends_with("." + parent);
  }
  static bool matches(const Override& made, const std::string& host, const std::string& path) {
    const std::size_t slash = made.entry.find('/');
    if (!is_below(host, made.entry.substr(0, slash))) return false;
    if (slash == std::string::npos) return true;
    const std::string its_path = made.entry.substr(slash);
    // A slash at a path's end makes no difference.
    return made.kind == Kind::directory ? (path + "/").starts_with(its_path)
                                        : path == its_path || path == its_path + "/";
  }
  static bool is_for(const Override& made, const Asker& asker) {
    if (made.client) return asker.client && made.client->contains(*asker.client);
    if (!made.user.empty()) return made.user == asker.user;
    return made.group.empty() || made.group == asker.group;
  }
  static std::tuple<std::size_t, int, std::size_t, int, std::uint64_t> rank(const Override& made) {
    const std::size_t slash = std::min(made.entry.find('/'), made.entry.size());
    const int kind = made.kind == Kind::url ? 2 : made.kind == Kind::directory ? 1 : 0;
    const bool is_one_client = made.client && made.client->is_one_address();
    const int people = is_one_client ? 4 : made.client ? 3 : !made.user.empty() ? 2 : !made.group.empty() ? 1 : 0;
    return {slash, kind, made.entry.size(), people, made.id};
  }
  std::vector<Override> all_;
  std::vector<TestFilter> filters_;
};

TEST(OverridesForSome, DecideAsANaiveReadingOfTheRules) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::array<std::string, 4> hosts{"x.test", "a.x.test", "b.a.x.test", "y.test"};
  const std::array<std::string, 5> paths{"", "/a", "/a/", "/a/b", "/a/b/"};
  const std::array<std::string, 3> users{"", "anna", "bob"}, groups{"pupils", "staff", "default"};
  const std::array<std::string, 3> clients{"10.0.0.1", "10.0.0.2", "10.0.1.1"};
  const auto pick = [&](const auto& from) -> const std::string& { return from[random() % from.size()]; };
  const std::vector<TestFilter> filters{{.name = "games", .entries = {"S x.test"}},
                                        {.name = "malware", .entries = {"S a.x.test"}, .takes_overrides = false},
                                        {.name = "ads", .entries = {"S y.test", "S b.a.x.test"}}};
  PolicyMaker made(filters, "free.a.x.test\n");
  const auto plain = made.policy;
  const auto random_override = [&](std::uint64_t id) {
    Override one =
        override_of(id, random() % 3 == 0 ? Action::deny : Action::allow, "http://" + pick(hosts) + pick(paths));
    const auto people = random() % 5;
    if (people == 0)
      one.client = random() % 2 == 0 ? range_of(*read_address(pick(clients))) : read_address_range("10.0.0.0/24").range;
    if (people == 1) one.user = users[1 + random() % 2];
    if (people == 2) one.group = pick(groups);
    if (one.action == Action::allow && random() % 3 == 0) one.filters = {filters[random() % 3].name};
    if (one.action == Action::allow && random() % 9 == 0) one.filters.push_back(filters[random() % 3].name);
    return one;
  };
  std::size_t asked = 0, blocked = 0;
  for (int round = 0; round < 2'500; ++round) {
    std::vector<Override> all;
    const std::uint64_t most = random() % 14;
    for (std::uint64_t id = 1; id <= most; ++id) all.push_back(random_override(id));
    made.policy = plain->with(all);
    const NaiveRules naive(all, filters);
    for (int question = 0; question < 40; ++question, ++asked) {
      const bool is_free = random() % 10 == 0;
      const std::string host = is_free ? "free.a.x.test" : pick(hosts), path = pick(paths);
      const std::string client = pick(clients);
      const Asker asker = asker_of(client, pick(users), pick(groups));
      const Verdict verdict = made.policy->judge(made.canonicaliser.url("http://" + host + path), asker);
      std::string said = verdict.decision == Decision::blocked ? "blocked by " : "allowed";
      if (verdict.reason == VerdictReason::denied) said += std::to_string(verdict.exception);
      if (verdict.decision == Decision::blocked && verdict.exception == 0) said += verdict.filter->name;
      blocked += verdict.decision == Decision::blocked ? 1U : 0U;
      ASSERT_EQ(said, naive.say(host, path.empty() ? "/" : path, asker, is_free))
          << host << path << " for " << client << " " << asker.user << " " << asker.group;
    }
  }
  EXPECT_EQ(asked, 100'000U);
  EXPECT_GT(blocked, asked / 10);
  EXPECT_LT(blocked, asked * 9 / 10);
}

}  // namespace
}  // namespace bloomwall::filter
