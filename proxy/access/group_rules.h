// Groups: who is in which, and what each does with the filters at an instant. Compiled from `groups`, `schedules` and
// `calendars` of the configuration; a part of the snapshot.
//   groups[].filters.F decides on filter F, else filters[].action; of a map the first schedule that is active, else its
//   `otherwise`, else filters[].action. Likewise groups[].otherwise, else `otherwise`.
// Pure: no clock is read. Immutable, thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "conf/config.h"
#include "filter/policy/policy.h"
#include "proxy/access/group_table.h"
#include "proxy/access/schedule.h"
#include "proxy/access/switches.h"

namespace bloomwall::proxy {

class GroupRules {
 public:
  // Null where no groups are configured; schedules and calendars are compiled even so. Errors: one line each.
  using Made = tl::expected<std::shared_ptr<const GroupRules>, std::vector<std::string>>;
  static Made compile(const conf::Config& settings);

  // The configured groups, and "default" behind them unless the last one is for everybody that no other takes.
  std::size_t size() const { return groups_.size(); }
  std::size_t group_of(const IpAddress& client, std::string_view listener, const GroupMember& member) const {
    return table_.group_of(client, listener, member);
  }
  const std::string& name(std::size_t group) const { return groups_[group].name; }
  // As configured; null for "default".
  const conf::Group* settings(std::size_t group) const;
  bool ends_tunnels(std::size_t group) const;

  const std::vector<std::string>& filters() const { return filters_; }  // their names
  bool takes_exceptions(std::size_t filter) const { return take_exceptions_[filter]; }
  // With what switches put over it.
  filter::PolicyView view_at(std::size_t group, Instant at, std::span<const Switch> switches = {}) const;
  // The schedule by which the group does with that filter (by its place; nothing: with what no filter decides) what it
  // does at `at`; nullptr: none is active, or a switch decides.
  const Schedule* schedule_of(std::size_t group, std::optional<std::size_t> filter, Instant at,
                              std::span<const Switch> switches = {}) const;
  struct ScheduleState {
    const Schedule* schedule = nullptr;
    Schedule::State state;
  };
  std::vector<ScheduleState> schedules_at(std::size_t group, Instant at) const;  // that the group names
  std::span<const Schedule> schedules() const { return schedules_; }             // all that are configured
  // The first instant behind `at` at which a schedule that a group names changes; at most Schedule::kHorizon away.
  Instant next_change(Instant at) const;
  Instant next_change(std::size_t group, Instant at) const;
  // Likewise, the ends of that group's switches included.
  Instant next_change(std::size_t group, Instant at, std::span<const Switch> switches) const;

  // Warnings: groups that can have no member, also because nobody logs in or shows a certificate; one line each.
  std::vector<std::string> warnings() const;

 private:
  template <typename T>
  struct Choice {  // conf::Timed with schedules by their place
    std::vector<std::pair<std::size_t, T>> by_schedule;
    std::optional<T> otherwise;
  };
  struct Group {
    std::string name;
    std::vector<std::pair<std::size_t, Choice<filter::FilterAction>>> filters;  // by the place of the filter
    Choice<filter::Otherwise> otherwise;
    std::size_t allow_lists = 0;         // as PolicyView has it
    std::vector<std::size_t> schedules;  // all that it names, each once
  };
  GroupRules(conf::Config settings, GroupTable table, std::vector<Schedule> schedules);
  void add(const conf::Group& group);
  template <typename To, typename From, typename Map>
  Choice<To> choice_of(const conf::Timed<From>& timed, Map map, Group& group) const;
  template <typename T>
  T decide(const Choice<T>& choice, T fallback, Instant at) const;

  std::vector<conf::Group> settings_;
  std::vector<filter::FilterAction> actions_;  // of filters, outside of groups
  std::vector<std::string> filters_;           // their names
  std::vector<bool> take_exceptions_;          // conf::Filter::takes_exceptions of each
  filter::Otherwise otherwise_ = filter::Otherwise::allow;
  bool has_users_ = false;         // clients must log in, or askers are believed for users
  bool has_answers_ = false;       // there are doors whose askers could name users
  bool has_certificates_ = false;  // a listener asks for them
  GroupTable table_;
  std::vector<Schedule> schedules_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::filesystem::path>> allow_lists_;
};

// The allow lists of groups, each set of files once: PolicySpec::more_allow_lists.
std::vector<std::vector<std::filesystem::path>> allow_lists_of_groups(const conf::Config& settings);
filter::FilterAction action_of(conf::Filter::Action action);
filter::Otherwise otherwise_of(conf::Otherwise otherwise);

}  // namespace bloomwall::proxy
