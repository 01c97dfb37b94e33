// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/group_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "proxy/access/user_name.h"

namespace bloomwall::proxy {
namespace {

constexpr const char* kDefaultGroup = "default";

bool asks_for_certificate(const conf::Listener& listener) {
  return listener.tls.client_certificate != conf::ListenerTls::ClientCertificate::off;
}

filter::FilterAction action_of_group(conf::Group::Action action) {
  switch (action) {
    case conf::Group::Action::block:
      return filter::FilterAction::block;
    case conf::Group::Action::monitor:
      return filter::FilterAction::monitor;
    case conf::Group::Action::allow:
      return filter::FilterAction::allow;
    case conf::Group::Action::off:
      return filter::FilterAction::off;
  }
  return filter::FilterAction::block;
}

// The names in groups as users are called whom a helper or an asker names, beside those that were written.
std::vector<conf::Group> with_called_users(const conf::Config& settings) {
  std::vector<conf::Group> groups = settings.groups;
  const NameSources sources = NameSources::of(settings.authentication, settings.answers);
  for (conf::Group& group : groups) {
    const std::vector<std::string> written = group.users;
    for (const std::string& name : written)
      std::ranges::move(sources.other_names(name), std::back_inserter(group.users));
  }
  return groups;
}

}  // namespace

filter::FilterAction action_of(conf::Filter::Action action) {
  switch (action) {
    case conf::Filter::Action::block:
      return filter::FilterAction::block;
    case conf::Filter::Action::monitor:
      return filter::FilterAction::monitor;
    case conf::Filter::Action::no_decrypt:
      return filter::FilterAction::no_decrypt;
    case conf::Filter::Action::allow:
      return filter::FilterAction::allow;
  }
  return filter::FilterAction::block;
}

filter::Otherwise otherwise_of(conf::Otherwise otherwise) {
  return otherwise == conf::Otherwise::deny ? filter::Otherwise::deny : filter::Otherwise::allow;
}

std::vector<std::vector<std::filesystem::path>> allow_lists_of_groups(const conf::Config& settings) {
  std::vector<std::vector<std::filesystem::path>> sets;
  for (const conf::Group& group : settings.groups) {
    const bool is_new = std::ranges::find(sets, group.allow_lists) == sets.end();
    if (!group.allow_lists.empty() && is_new) sets.push_back(group.allow_lists);
  }
  return sets;
}

GroupRules::Made GroupRules::compile(const conf::Config& settings) {
  std::vector<std::string> errors;
  auto schedules = compile_schedules(settings);
  if (!schedules) errors = schedules.error();
  auto table = GroupTable::build(with_called_users(settings), settings.listeners);
  if (!table) std::ranges::move(table.error(), std::back_inserter(errors));
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  if (settings.groups.empty()) return nullptr;
  return std::shared_ptr<const GroupRules>(new GroupRules(settings, *std::move(table), *std::move(schedules)));
}

GroupRules::GroupRules(conf::Config settings, GroupTable table, std::vector<Schedule> schedules)
    : settings_(std::move(settings.groups)),
      otherwise_(otherwise_of(settings.otherwise)),
      has_users_(!settings.authentication.require.empty() ||
                 NameSources::of(settings.authentication, settings.answers).has_askers),
      has_answers_(std::ranges::any_of(settings.answers, &conf::Answers::may_name_users)),
      has_certificates_(std::ranges::any_of(settings.listeners, asks_for_certificate)),
      table_(std::move(table)),
      schedules_(std::move(schedules)) {
  for (const conf::Filter& filter : settings.filters) {
    actions_.push_back(action_of(filter.action));
    filters_.push_back(filter.name);
    take_exceptions_.push_back(filter.takes_exceptions);
  }
  settings.groups = settings_;
  allow_lists_ = allow_lists_of_groups(settings);
  for (const conf::Group& group : settings_) add(group);
  const bool takes_all = !settings_.empty() && !settings_.back().has_criteria();
  if (!takes_all) groups_.push_back({.name = kDefaultGroup, .filters = {}, .otherwise = {}, .schedules = {}});
}

void GroupRules::add(const conf::Group& group) {
  Group made{.name = group.name, .filters = {}, .otherwise = {}, .schedules = {}};
  for (const auto& [name, timed] : group.filters) {
    const auto place = std::ranges::find(filters_, name);
    if (place == filters_.end()) continue;
    made.filters.emplace_back(static_cast<std::size_t>(place - filters_.begin()),
                              choice_of<filter::FilterAction>(timed, action_of_group, made));
  }
  made.otherwise = choice_of<filter::Otherwise>(group.otherwise, otherwise_of, made);
  std::ranges::sort(made.schedules);
  const auto lists = std::ranges::find(allow_lists_, group.allow_lists);
  if (lists != allow_lists_.end()) made.allow_lists = static_cast<std::size_t>(lists - allow_lists_.begin()) + 1;
  groups_.push_back(std::move(made));
}

template <typename To, typename From, typename Map>
GroupRules::Choice<To> GroupRules::choice_of(const conf::Timed<From>& timed, Map map, Group& group) const {
  Choice<To> choice;
  for (const auto& [name, value] : timed.by_schedule) {
    const auto at = std::ranges::find(schedules_, name, &Schedule::name);
    if (at == schedules_.end()) continue;
    const auto place = static_cast<std::size_t>(at - schedules_.begin());
    choice.by_schedule.emplace_back(place, map(value));
    if (std::ranges::find(group.schedules, place) == group.schedules.end()) group.schedules.push_back(place);
  }
  if (timed.otherwise) choice.otherwise = map(*timed.otherwise);
  return choice;
}

template <typename T>
T GroupRules::decide(const Choice<T>& choice, T fallback, Instant at) const {
  for (const auto& [schedule, value] : choice.by_schedule) {
    if (schedules_[schedule].is_active_at(at)) return value;
  }
  return choice.otherwise.value_or(fallback);
}

const conf::Group* GroupRules::settings(std::size_t group) const {
  return group < settings_.size() ? &settings_[group] : nullptr;
}

bool GroupRules::ends_tunnels(std::size_t group) const {
  return group >= settings_.size() || settings_[group].end_tunnels;
}

filter::PolicyView GroupRules::view_at(std::size_t group, Instant at, std::span<const Switch> switches) const {
  const Group& of = groups_[group];
  filter::PolicyView view{
      .actions = actions_, .otherwise = decide(of.otherwise, otherwise_, at), .allow_lists = of.allow_lists};
  for (const auto& [filter, choice] : of.filters) view.actions[filter] = decide(choice, actions_[filter], at);
  apply_switches(switches, of.name, at, {filters_, take_exceptions_}, view);
  return view;
}

const Schedule* GroupRules::schedule_of(std::size_t group, std::optional<std::size_t> filter, Instant at,
                                        std::span<const Switch> switches) const {
  const Group& of = groups_[group];
  const auto decides = [&](const Switch& made) {
    const bool is_meant = filter ? made.what == Switch::What::filter && made.filter == filters_[*filter]
                                 : made.what == Switch::What::otherwise;
    return is_meant && made.group == of.name && made.until > at;
  };
  if (std::ranges::any_of(switches, decides)) return nullptr;
  const auto first_active = [&](const auto& choice) -> const Schedule* {
    for (const auto& [schedule, value] : choice.by_schedule) {
      if (schedules_[schedule].is_active_at(at)) return &schedules_[schedule];
    }
    return nullptr;
  };
  if (!filter) return first_active(of.otherwise);
  for (const auto& [place, choice] : of.filters) {
    if (place == *filter) return first_active(choice);
  }
  return nullptr;
}

std::vector<GroupRules::ScheduleState> GroupRules::schedules_at(std::size_t group, Instant at) const {
  std::vector<ScheduleState> states;
  for (const std::size_t place : groups_[group].schedules) {
    states.push_back({&schedules_[place], schedules_[place].state_at(at)});
  }
  return states;
}

Instant GroupRules::next_change(std::size_t group, Instant at) const {
  Instant next = at + Schedule::kHorizon;
  for (const std::size_t place : groups_[group].schedules) {
    next = std::min(next, schedules_[place].state_at(at).until);
  }
  return next;
}

Instant GroupRules::next_change(std::size_t group, Instant at, std::span<const Switch> switches) const {
  Instant next = next_change(group, at);
  for (const Switch& made : switches) {
    if (made.group == groups_[group].name && made.until > at) next = std::min(next, made.until);
  }
  return next;
}

Instant GroupRules::next_change(Instant at) const {
  Instant next = at + Schedule::kHorizon;
  std::vector<bool> is_seen(schedules_.size());
  for (const Group& group : groups_) {
    for (const std::size_t place : group.schedules) {
      if (is_seen[place]) continue;
      is_seen[place] = true;
      next = std::min(next, schedules_[place].state_at(at).until);
    }
  }
  return next;
}

std::vector<std::string> GroupRules::warnings() const {
  std::vector<std::string> lines;
  for (const std::size_t group : table_.unreachable()) {
    lines.push_back(fmt::format("groups[{}]: nobody can be in {}: {}", group, groups_[group].name,
                                group == 0 ? "no listener has clients of whom what it asks for is known"
                                           : "the groups before it leave it no client"));
  }
  if (table_.members().asks_for_certificates() && !has_certificates_) {
    lines.emplace_back("groups: certificates hold for nobody while no listener has tls.client_certificate");
  }
  if (table_.members().asks_for_users() && !has_users_) {
    lines.emplace_back(fmt::format(
        "groups: users and user_groups hold for nobody while authentication.require is empty: name there the networks "
        "whose clients must log in{}",
        has_answers_ ? "; or set answers[].users where the program that asks has logged its users in" : ""));
  }
  return lines;
}

}  // namespace bloomwall::proxy
