// What groups do with filters, by random schedules at random moments, against a naive reading of the rules.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "proxy/access/group_rules.h"
#include "tests/proxy/access/wall_clock.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

using GroupAction = conf::Group::Action;

class NaiveGroups {
 public:
  explicit NaiveGroups(ScheduleMaker& random) : random_(random) {
    settings.time_zone = random.schedule().zone;
    const auto schedule_count = random.below(5);
    for (int n = 0; n < schedule_count; ++n) add_schedule("schedule-" + std::to_string(n));
    const auto filter_count = 1 + random.below(4);
    for (int n = 0; n < filter_count; ++n) {
      conf::Filter& filter = settings.filters.emplace_back();
      filter.name = "filter-" + std::to_string(n);
      filter.action = random.pick(std::vector{conf::Filter::Action::block, conf::Filter::Action::monitor,
                                              conf::Filter::Action::no_decrypt, conf::Filter::Action::allow});
    }
    if (random.one_in(3)) settings.otherwise = conf::Otherwise::deny;
    const auto group_count = 1 + random.below(3);
    for (int n = 0; n < group_count; ++n) add_group("group-" + std::to_string(n));
  }

  // "block off deny": of each filter in turn, then `otherwise`.
  std::string say(WallClock& clock, std::size_t place, Instant at) const {
    const auto* const group = place < settings.groups.size() ? &settings.groups[place] : nullptr;
    std::string out;
    for (const conf::Filter& filter : settings.filters) {
      const auto own = group == nullptr || !group->filters.contains(filter.name)
                           ? std::nullopt
                           : chosen(clock, group->filters.at(filter.name), at);
      out += (own ? text_of(*own) : std::string(to_string(action_of(filter.action)))) + " ";
    }
    const auto own = group == nullptr ? std::nullopt : chosen(clock, group->otherwise, at);
    return out + (own.value_or(settings.otherwise) == conf::Otherwise::deny ? "deny" : "allow");
  }

  conf::Config settings;
  std::map<std::string, NaiveSchedule> schedules;

 private:
  void add_schedule(const std::string& name) {
    NaiveSchedule made = random_.schedule();
    conf::Schedule& schedule = settings.schedules.emplace_back();
    schedule.name = name;
    schedule.times = made.times();
    if (random_.one_in(4)) schedule.time_zone = made.zone;
    if (!schedule.time_zone) made.zone = settings.time_zone;
    if (!made.rest_days.empty()) {
      settings.calendars.push_back({.name = "rest of " + name, .dates = made.rest_days, .file = {}});
      schedule.except = {settings.calendars.back().name};
    }
    schedules.emplace(name, std::move(made));
  }
  template <typename T>
  conf::Timed<T> timed(const std::vector<T>& values) {
    conf::Timed<T> made;
    std::set<std::string> named;
    for (int n = settings.schedules.empty() ? 0 : random_.below(4); n > 0; --n) {
      const std::string& name = random_.pick(settings.schedules).name;
      if (named.insert(name).second) made.by_schedule.emplace_back(name, random_.pick(values));
    }
    if (random_.one_in(2)) made.otherwise = random_.pick(values);
    return made;
  }
  void add_group(const std::string& name) {
    static const std::vector<GroupAction> kActions{GroupAction::block, GroupAction::monitor, GroupAction::allow,
                                                   GroupAction::off};
    static const std::vector<conf::Otherwise> kOtherwise{conf::Otherwise::allow, conf::Otherwise::deny};
    conf::Group& group = settings.groups.emplace_back();
    group.name = name;
    group.clients = {"10.0.0.0/8"};
    for (const conf::Filter& filter : settings.filters) {
      if (random_.one_in(2)) group.filters[filter.name] = timed(kActions);
    }
    if (random_.one_in(2)) group.otherwise = timed(kOtherwise);
  }
  template <typename T>
  std::optional<T> chosen(WallClock& clock, const conf::Timed<T>& of, Instant at) const {
    for (const auto& [name, value] : of.by_schedule) {
      if (schedules.at(name).is_active(clock, at)) return value;
    }
    return of.otherwise;
  }
  static std::string text_of(GroupAction action) {
    static const std::map<GroupAction, std::string> kTexts{{GroupAction::block, "block"},
                                                           {GroupAction::monitor, "monitor"},
                                                           {GroupAction::allow, "allow"},
                                                           {GroupAction::off, "off"}};
    return kTexts.at(action);
  }
  ScheduleMaker& random_;
};

std::string say_actions(const GroupRules& rules, std::size_t group, Instant at) {
  const filter::PolicyView view = rules.view_at(group, at);
  std::string out;
  for (const filter::FilterAction action : view.actions) out += std::string(to_string(action)) + " ";
  return out + to_string(view.otherwise);
}

// And between two changes that it announces nothing changes.
TEST(GroupActionsAtRandomMoments, AreThoseOfANaiveReading) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  ScheduleMaker random(seed);
  WallClock clock;
  int asked = 0;
  std::set<std::string> seen;
  for (int round = 0; round < 10'000; ++round) {
    const NaiveGroups naive(random);
    const auto made = GroupRules::compile(naive.settings);
    ASSERT_TRUE(made) << made.error().front();
    for (int question = 0; question < 10; ++question, ++asked) {
      const auto group = static_cast<std::size_t>(random.below(static_cast<int>(naive.settings.groups.size()) + 1));
      const Instant at = random.moment(naive.settings.time_zone, clock);
      const std::string wanted = naive.say(clock, group, at);
      ASSERT_EQ(say_actions(**made, group, at), wanted) << "group " << group << " at " << at;
      seen.insert(wanted);
      const Instant next = (*made)->next_change(group, at);
      ASSERT_GT(next, at);
      const Instant between = at + random.below(static_cast<int>(next - at));
      ASSERT_EQ(naive.say(clock, group, between), wanted) << "group " << group << " at " << between << " as at " << at;
    }
  }
  EXPECT_EQ(asked, 100'000);
  EXPECT_GT(seen.size(), 500U);
}

}  // namespace
}  // namespace bloomwall::proxy
