// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/groups_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/json_body.h"
#include "proxy/decision/snapshot.h"
#include "proxy/explain/name_review.h"
#include "proxy/log/log.h"
#include "proxy/state/json_members.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kGroupsPath = "/api/v1/groups", kSwitchPath = "/api/v1/groups/{group}/switches/{key}";

// The switch that a request describes; errors as for people.
tl::expected<SwitchItem, std::string> read_switch_item(std::string_view group, std::string_view key,
                                                       std::string_view body, Instant now) {
  const auto refuse = [](std::string what) { return tl::unexpected(std::move(what)); };
  const auto object = read_json_body(body);
  if (!object) return refuse(object.error());
  const ordered_json& json = *object;
  for (const auto& [name, value] : json.items()) {
    if (name == "value" || name == "until" || name == "why") continue;
    return refuse(fmt::format("{}: no such member; there are value, until and why", name));
  }
  if (const char* const name = member_that_is_no_text(json, {"value"}); name != nullptr) {
    return refuse(fmt::format("{}: a text, or null, is needed", name));
  }
  if (json.contains("why") && !json["why"].is_string()) return refuse("why: a text is needed");
  const std::string value = text_member(json, "value").value_or(""), why = text_member(json, "why").value_or("");
  auto made = read_switch(value.empty() ? std::string(key) : fmt::format("{}={}", key, value));
  if (!made) return refuse(made.error());
  const auto until = time_member(json, "until");
  if (!until) return refuse("until: a time such as 2026-01-31T12:00:00Z is needed");
  if (*until <= now) return refuse("until: has passed already");
  if (*until > now + SwitchItem::kLongest) return refuse("until: at most 30 days from now");
  if (why.size() > SwitchItem::kMaxWhy) return refuse(fmt::format("why: at most {} octets", SwitchItem::kMaxWhy));
  made->group = group;
  made->until = *until;
  return SwitchItem{.made = *std::move(made), .created = now, .why = why};
}

// Why a switch of a filter is not taken; nothing: it is.
std::optional<HttpReply> refusal_of(const Switch& made, const GroupRules& rules, const Caller& caller) {
  if (made.what != Switch::What::filter) return std::nullopt;
  const auto place = std::ranges::find(rules.filters(), made.filter);
  if (place == rules.filters().end()) {
    return problem(404, "No such filter", fmt::format("there is no filter {}", printable(made.filter)));
  }
  if (made.action == filter::FilterAction::block) return std::nullopt;
  if (!rules.takes_exceptions(static_cast<std::size_t>(place - rules.filters().begin()))) {
    return problem(409, "The switch would have no effect",
                   fmt::format("the filter {} takes no exceptions (filters[].exceptions), and no other action than "
                               "block from a switch",
                               made.filter));
  }
  if (made.action == filter::FilterAction::allow && caller.role < Role::maintainer) {
    return problem(403, "Not allowed",
                   "allow lets pass what other filters stop: it needs the role operator; off needs reviewer");
  }
  return std::nullopt;
}

ordered_json safe_search_of(const GroupRules& rules, std::size_t group) {
  const conf::Group* const settings = rules.settings(group);
  return settings == nullptr ? ordered_json::array() : ordered_json(settings->safe_search);
}

// Who is named is shown to whoever may see requests.
bool sees_names(const Caller& caller) { return caller.role >= Role::maintainer; }

ordered_json criteria_of(const conf::Group& settings, bool has_names) {
  ordered_json criteria = ordered_json::array();
  const auto add = [&](const char* kind, const std::vector<std::string>& names, bool is_asked = false) {
    if (names.empty() && !is_asked) return;
    ordered_json shown = ordered_json::array();
    if (has_names) {
      for (const std::string& name : names | std::views::take(GroupsApi::kMostNames)) {
        shown.push_back(printable(name));
      }
    }
    criteria.push_back({{"kind", kind}, {"count", names.size()}, {"names", std::move(shown)}});
  };
  add("clients", settings.clients, settings.is_of_devices);
  add("listeners", settings.listeners);
  add("users", settings.users);
  add("user_groups", settings.user_groups);
  add("certificates", settings.certificates);
  return criteria;
}

ordered_json group_json(const GroupRules& rules, std::size_t group, const State& state, Instant now, bool has_names) {
  ordered_json filters = ordered_json::array();
  ordered_json actions = ordered_json::object(), schedules = ordered_json::array(), switches = ordered_json::array();
  const SwitchesPtr over = state.switches_in_force();
  const filter::PolicyView view =
      rules.view_at(group, now, over == nullptr ? std::span<const Switch>() : std::span<const Switch>(*over));
  for (std::size_t i = 0; i < view.actions.size(); ++i) {
    actions[rules.filters()[i]] = to_string(view.actions[i]);
    filters.push_back({{"name", rules.filters()[i]}, {"action", to_string(view.actions[i])}});
  }
  const conf::Group* const settings = rules.settings(group);
  for (const auto& [schedule, at] : rules.schedules_at(group, now)) {
    const bool is_known = at.until < now + Schedule::kHorizon;
    schedules.push_back({{"name", schedule->name()},
                         {"active", at.is_active},
                         {"until", is_known ? ordered_json(time_text(at.until)) : ordered_json()}});
  }
  for (const SwitchItem& item : state.switches) {
    if (item.made.group == rules.name(group) && item.made.until > now) switches.push_back(to_json(item));
  }
  return {{"name", rules.name(group)},
          {"index", group},
          {"criteria", settings == nullptr ? ordered_json::array() : criteria_of(*settings, has_names)},
          {"actions", std::move(actions)},
          {"filters", std::move(filters)},
          {"otherwise", to_string(view.otherwise)},
          {"schedules", std::move(schedules)},
          {"switches", std::move(switches)},
          {"safe_search", safe_search_of(rules, group)}};
}

// `has_names`: the names of criteria.
HttpReply list_of(const GroupRules* rules, const State& state, bool has_names) {
  ordered_json items = ordered_json::array();
  const Instant now = instant_now();
  for (std::size_t group = 0; rules != nullptr && group < rules->size(); ++group) {
    items.push_back(group_json(*rules, group, state, now, has_names));
  }
  ordered_json orphans = ordered_json::array();
  for (const SwitchItem& item : state.switches) {
    const std::string fault = item.made.until > now ? fault_of_switch(rules, item.made) : std::string();
    if (fault.empty()) continue;
    orphans.push_back(to_json(item));
    orphans.back()["void"] = fault;
  }
  return json_reply({{"items", std::move(items)}, {"next", nullptr}, {"void_switches", std::move(orphans)}});
}

}  // namespace

std::shared_ptr<const GroupRules> GroupsApi::rules() const {
  const SnapshotPtr snapshot = served_.snapshot();
  return snapshot == nullptr ? nullptr : snapshot->groups;
}

std::vector<ApiRoute> GroupsApi::routes() {
  return {
      {.method = "GET",
       .path = kGroupsPath,
       .role = Role::viewer,
       .handler =
           [this](const ApiRequest& request) {
             return with_etag(list_of(rules().get(), state_.state(), sees_names(request.caller)));
           }},
      {.method = "PUT",
       .path = kSwitchPath,
       .role = Role::reviewer,
       .handler = [this](const ApiRequest& request) { return set(request); },
       .most_body = kMostApiBody},
      {.method = "DELETE", .path = kSwitchPath, .role = Role::reviewer, .handler = [this](const ApiRequest& request) {
         return remove(request);
       }}};
}

HttpReply GroupsApi::set(const ApiRequest& request) {
  if (!served_.takes_changes()) return ending_problem();
  const auto rules = this->rules();
  const std::string_view group = request.http.arguments[0], key = request.http.arguments[1];
  if (const std::string unknown = unknown_group(rules.get(), group); !unknown.empty()) {
    return problem(404, "No such group", unknown);
  }
  if (!request.caller.may_change(group)) return foreign_group_problem();
  auto item = read_switch_item(group, key, request.http.body, instant_now());
  if (!item) return problem(400, "The switch cannot be taken", item.error());
  if (auto wrong = refusal_of(item->made, *rules, request.caller)) return *std::move(wrong);
  const bool is_asked = state_.ask(
      [item = *std::move(item), author = request.caller.author, rules, has_names = sees_names(request.caller),
       if_match = if_match_of(request.http.head)](StateStore& store) -> StateResult<SwitchItem> {
        if (const auto same = check_match(if_match, [&] { return list_of(rules.get(), *store.state(), has_names); });
            !same)
          return tl::unexpected(same.error());
        return store.set_switch(item, author);
      },
      [this, asker = request.http.stream](const StateResult<SwitchItem>& made) {
        if (!made) return asker.reply(problem_of(made.error()));
        publish(*made, asker, true);
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

HttpReply GroupsApi::remove(const ApiRequest& request) {
  if (!served_.takes_changes()) return ending_problem();
  if (!request.caller.may_change(request.http.arguments[0])) return foreign_group_problem();
  const bool is_asked = state_.ask(
      [group = std::string(request.http.arguments[0]), key = std::string(request.http.arguments[1]),
       author = request.caller.author, rules = rules(), has_names = sees_names(request.caller),
       if_match = if_match_of(request.http.head)](StateStore& store) -> StateResult<SwitchItem> {
        if (const auto same = check_match(if_match, [&] { return list_of(rules.get(), *store.state(), has_names); });
            !same)
          return tl::unexpected(same.error());
        return store.remove_switch(group, key, author);
      },
      [this, asker = request.http.stream](const StateResult<SwitchItem>& removed) {
        if (!removed) return asker.reply(problem_of(removed.error()));
        publish(*removed, asker, false);
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

// Answered once every worker uses it.
void GroupsApi::publish(const SwitchItem& item, const HttpStream& asker, bool is_new) {
  log::info("switch {}: {}", is_new ? "set" : "removed", printable(json_line(to_json(item))));
  served_.publish([this, item, asker, is_new] {
    ordered_json json{{"item", to_json(item)}};
    if (is_new) json["warnings"] = state_.warnings();
    asker.reply(json_reply(json));
  });
}

}  // namespace bloomwall::proxy
