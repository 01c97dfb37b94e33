// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/group_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::proxy {
namespace {

// Monday 2026-11-23 00:00 UTC.
constexpr Instant kMonday = 1'795'392'000, kOneHour = 3600;

conf::Config school() {
  constexpr std::string_view kYaml = R"(
time_zone: UTC
schedules:
- {name: lessons, times: [mon-fri 08:00-12:00]}
- {name: exam, times: [mon 10:00-11:00]}
filters:
- {name: malware, file: m.bwf}
- {name: games, file: g.bwf, action: monitor}
- {name: ads, file: a.bwf}
groups:
- name: pupils
  clients: [10.2.0.0/16]
  filters:
    games: {exam: block, lessons: allow, otherwise: 'off'}
    ads: {lessons: monitor}
  otherwise: {exam: deny}
- name: staff
  clients: [10.0.0.0/8]
  filters: {ads: 'off'}
  allow_lists: [staff.txt]
  end_tunnels: false
- {name: guests, clients: [10.2.3.0/24], allow_lists: [staff.txt]}
)";
  auto loaded = conf::load_text(kYaml, "school");
  EXPECT_TRUE(loaded) << loaded.error().front().text();
  return *std::move(loaded);
}

std::string say_view(const GroupRules& rules, std::size_t group, Instant at) {
  const filter::PolicyView view = rules.view_at(group, at);
  std::string out;
  for (const filter::FilterAction action : view.actions) out += std::string(to_string(action)) + " ";
  return out + to_string(view.otherwise) + " " + std::to_string(view.allow_lists);
}

TEST(GroupRules, ThereIsNoDefaultWhereTheLastGroupIsForEverybody) {
  conf::Config settings;
  settings.groups.resize(2);
  settings.groups[0].name = "staff";
  settings.groups[0].clients = {"10.0.0.0/8"};
  settings.groups[1].name = "rest";
  settings.groups[1].clients = {"10.0.0.0/7"};
  EXPECT_EQ(GroupRules::compile(settings).value()->size(), 3U);
  settings.groups[1].clients.clear();
  const auto rules = GroupRules::compile(settings).value();
  ASSERT_EQ(rules->size(), 2U);
  EXPECT_EQ(rules->name(1), "rest");
  for (const char* const client : {"10.1.2.3", "192.0.2.7", "2001:db8::7"}) {
    EXPECT_LT(rules->group_of(*IpAddress::parse_host(client), "127.0.0.1:3128", {}), rules->size()) << client;
  }
}

TEST(GroupRules, TheFirstActiveScheduleGivesTheAction) {
  const auto rules = GroupRules::compile(school()).value();
  ASSERT_EQ(rules->size(), 4U);
  EXPECT_EQ(say_view(*rules, 0, kMonday + 7 * kOneHour), "block off block allow 0");
  EXPECT_EQ(say_view(*rules, 0, kMonday + 8 * kOneHour), "block allow monitor allow 0");
  EXPECT_EQ(say_view(*rules, 0, kMonday + 10 * kOneHour), "block block monitor deny 0");
  EXPECT_EQ(say_view(*rules, 0, kMonday + 11 * kOneHour), "block allow monitor allow 0");
  EXPECT_EQ(say_view(*rules, 1, kMonday), "block monitor off allow 1");
  EXPECT_EQ(say_view(*rules, 2, kMonday), "block monitor block allow 1");
  EXPECT_EQ(say_view(*rules, 3, kMonday), "block monitor block allow 0");
  EXPECT_EQ(rules->name(3), "default");
  EXPECT_FALSE(rules->ends_tunnels(1));
  EXPECT_TRUE(rules->ends_tunnels(3));
}

TEST(GroupRules, SayWhenSomethingChangesNext) {
  const auto rules = GroupRules::compile(school()).value();
  EXPECT_EQ(rules->next_change(kMonday), kMonday + 8 * kOneHour);
  EXPECT_EQ(rules->next_change(kMonday + 8 * kOneHour), kMonday + 10 * kOneHour);
  EXPECT_EQ(rules->next_change(kMonday + 10 * kOneHour), kMonday + 11 * kOneHour);
  EXPECT_EQ(rules->next_change(1, kMonday), kMonday + Schedule::kHorizon) << "it names no schedule";
  const auto states = rules->schedules_at(0, kMonday + 9 * kOneHour);
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[0].schedule->name(), "lessons");
  EXPECT_EQ(states[0].state, (Schedule::State{true, kMonday + 12 * kOneHour}));
  EXPECT_FALSE(states[1].state.is_active);
}

TEST(GroupRules, WarnOfGroupsThatNobodyCanBeIn) {
  const auto rules = GroupRules::compile(school()).value();
  ASSERT_EQ(rules->warnings().size(), 1U);
  EXPECT_EQ(rules->warnings().front(), "groups[2]: nobody can be in guests: the groups before it leave it no client");
}

TEST(GroupRules, WarnOfUsersWhereNobodyLogsIn) {
  conf::Config settings = school();
  settings.groups[2].users = {"anna"};
  settings.groups[2].clients = {"192.0.2.0/24"};
  auto rules = GroupRules::compile(settings).value();
  ASSERT_EQ(rules->warnings().size(), 1U);
  EXPECT_NE(rules->warnings().front().find("authentication.require is empty"), std::string::npos);
  settings.authentication.require = {"10.0.0.0/8"};
  rules = GroupRules::compile(settings).value();
  EXPECT_EQ(rules->warnings(), std::vector<std::string>{});
}

TEST(GroupRules, WarnOfUsersWhereNoDoorBelievesThem) {
  conf::Config settings = school();
  settings.groups[2].users = {"anna"};
  settings.groups[2].clients = {"192.0.2.0/24"};
  settings.answers.emplace_back().trust = {"127.0.0.1"};
  auto rules = GroupRules::compile(settings).value();
  ASSERT_EQ(rules->warnings().size(), 1U);
  EXPECT_NE(rules->warnings().front().find("set answers[].users"), std::string::npos);
  settings.answers[0].users = true;
  rules = GroupRules::compile(settings).value();
  EXPECT_EQ(rules->warnings(), std::vector<std::string>{}) << "a door says who they are";
}

TEST(GroupRules, AreNoneWithoutGroups) {
  conf::Config settings = school();
  EXPECT_EQ(allow_lists_of_groups(settings).size(), 1U) << "one set of files for two groups";
  settings.groups.clear();
  EXPECT_EQ(GroupRules::compile(settings).value(), nullptr);
  settings.calendars = {{.name = "c", .dates = {}, .file = "/nowhere/days.txt"}};
  EXPECT_FALSE(GroupRules::compile(settings)) << "what is wrong is told even so";
}

}  // namespace
}  // namespace bloomwall::proxy
