// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/client_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/terminal.h"
#include "base/text.h"
#include "proxy/access/access_rules.h"
#include "proxy/explain/called_users.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

// Seconds since 1970-01-01 00:00 on the wall clock; nothing: the text says of which zone it is, or is no time.
std::optional<Instant> wall_time(std::string text) {
  constexpr std::size_t kToTheMinute = 16;
  if (text.size() == kToTheMinute) text += ":00";
  return parse_time(text) ? std::nullopt : parse_time(text + "Z");
}

// Of the wall clock of `zone`; with "Z" or an offset at its end of that.
std::optional<Instant> parse_at(std::string text, const TimeZone& zone) {
  constexpr std::size_t kToTheMinute = 16;
  if (const auto seconds = wall_time(text)) return zone.instant_of(*seconds);
  if (text.size() == kToTheMinute + 1 && text.back() == 'Z') text.insert(kToTheMinute, ":00");
  return parse_time(text);
}

// The second instant at which the wall clock shows this time, where it is set back after the first; nothing: none.
std::optional<Instant> shown_again(const std::string& text, Instant first, const TimeZone& zone) {
  if (!wall_time(text)) return std::nullopt;
  const TimeZone::Period period = zone.period_of(first);
  const Instant second = first + period.offset - zone.period_of(period.end).offset;
  return second > first && second >= period.end ? std::optional(second) : std::nullopt;
}

std::string schedules_text(const GroupRules& rules, std::size_t group, Instant at, const TimeZone& zone) {
  std::vector<std::string> active;
  for (const auto& [schedule, state] : rules.schedules_at(group, at)) {
    if (!state.is_active) continue;
    const bool has_end = state.until < at + Schedule::kHorizon;
    active.push_back(
        has_end ? fmt::format("{} until {}", schedule->name(), local_text_of(state.until, schedule->zone(), zone))
                : schedule->name());
  }
  return active.empty() ? "no schedule is active" : fmt::format("active: {}", fmt::join(active, ", "));
}

// Whose token has the name of the user in question; null: nobody's.
UserPtr token_holder_of(const TokenTable& tokens, const ClientQuestion& question) {
  const auto token = std::ranges::find(tokens.all(), question.user, &Token::name);
  if (token == tokens.all().end()) return nullptr;
  return std::make_shared<const User>(
      User{.name = token->name, .groups = question.user_groups.empty() ? token->groups : question.user_groups});
}

std::string criteria_text(const conf::Group* group) {
  if (group == nullptr || !group->has_criteria()) return "everybody who is in no other";
  std::vector<std::string> parts;
  if (!group->clients.empty()) parts.push_back(fmt::format("clients {}", fmt::join(group->clients, ", ")));
  if (group->clients.empty() && group->is_of_devices) parts.emplace_back("devices, of which there are none");
  if (!group->listeners.empty()) parts.push_back(fmt::format("listeners {}", fmt::join(group->listeners, ", ")));
  if (!group->users.empty()) parts.push_back(fmt::format("users {}", fmt::join(group->users, ", ")));
  if (!group->user_groups.empty()) parts.push_back(fmt::format("user_groups {}", fmt::join(group->user_groups, ", ")));
  if (!group->certificates.empty()) {
    parts.push_back(fmt::format("certificates {}", fmt::join(group->certificates, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string utc_text(Instant instant) {
  const std::chrono::sys_seconds at{std::chrono::seconds(instant)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count());
}

std::string actions_text(const GroupRules& rules, std::size_t group, Instant at, std::span<const Switch> switches) {
  const filter::PolicyView view = rules.view_at(group, at, switches);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < view.actions.size(); ++i) {
    parts.push_back(fmt::format("{} {}", rules.filters()[i], to_string(view.actions[i])));
  }
  const std::string actions = parts.empty() ? "no filters" : fmt::format("{}", fmt::join(parts, ", "));
  return fmt::format("{}; otherwise {}", actions, to_string(view.otherwise));
}

tl::expected<ClientView, std::string> ClientView::make(const conf::Config& settings, PolicyPtr all,
                                                       const ExportedState& made_by_people,
                                                       const ClientQuestion& question) {
  ClientView made;
  auto rules = GroupRules::compile(settings);
  if (!rules) return tl::unexpected(rules.error().front());
  made.rules_ = *std::move(rules);
  auto safe_search = SafeSearch::compile(settings);
  if (!safe_search) return tl::unexpected(safe_search.error().front());
  made.safe_search_ = *std::move(safe_search);
  auto names = AuthenticationRules::compile(settings.authentication, nullptr, {}, settings.answers);
  if (!names) return tl::unexpected(names.error().front());
  made.names_ = *std::move(names);
  if (!settings.authentication.require.empty()) made.logins_ = made.names_;
  made.all_ = std::move(all);
  made.exceptions_ = made_by_people.overrides();
  for (const SwitchItem& item : made_by_people.switches) made.switches_.push_back(item.made);
  if (std::string wrong = made.take(settings, question, Unknown::refused); !wrong.empty()) {
    return tl::unexpected(std::move(wrong));
  }
  return made;
}

tl::expected<ClientView, std::string> ClientView::of(const Edition& served, const State& made_by_people,
                                                     const ClientQuestion& question) {
  const Snapshot& snapshot = *served.snapshot;
  ClientView made;
  made.rules_ = snapshot.groups;
  made.safe_search_ = snapshot.safe_search;
  made.logins_ = snapshot.authentication;
  made.names_ = snapshot.names;
  made.all_ = served.policy;
  made.exceptions_ = made_by_people.overrides();
  for (const SwitchItem& item : made_by_people.switches) made.switches_.push_back(item.made);
  made.token_holder_ = token_holder_of(*made_by_people.tokens, question);
  if (std::string wrong = made.take(snapshot.settings, question, Unknown::taken); !wrong.empty()) {
    return tl::unexpected(std::move(wrong));
  }
  return made;
}

// What is wrong with the question, or empty.
std::string ClientView::take(const conf::Config& settings, const ClientQuestion& question, Unknown unknown) {
  zone_ = TimeZone::find(settings.time_zone).value_or(TimeZone());
  const auto at = question.at.empty() ? instant_now() : parse_at(question.at, zone_);
  if (!at) {
    return fmt::format(
        "at {}: expected a time such as 2026-11-23T21:15 that exists in {}, or one in UTC such as 2026-11-23T21:15:00Z",
        question.at, zone_.name());
  }
  at_ = *at;
  if (!question.at.empty()) again_ = shown_again(question.at, at_, zone_);
  IpAddress client;
  if (!question.client.empty()) {
    const auto address = IpAddress::parse_host(question.client);
    if (!address) return fmt::format("client {}: an address is needed", question.client);
    client = *address;
    client_ = client;
    const auto access = AccessRules::build(settings.access);
    if (!access) return access.error();
    is_client_denied_ = !access->client_allowed(client);
  }
  std::string listener = question.listener;
  if (listener.empty()) listener = settings.listeners.front().address;
  const auto of = std::ranges::find(settings.listeners, listener, &conf::Listener::address);
  if (of == settings.listeners.end()) return fmt::format("listener {}: not one of listeners[].address", listener);
  std::string wrong = take_user(question, client, of->mode == conf::Listener::Mode::transparent, unknown);
  if (!wrong.empty() || rules_ == nullptr) return wrong;
  GroupMember member;
  if (of->tls.client_certificate != conf::ListenerTls::ClientCertificate::off) {
    member.certificate = question.certificates;
  }
  without_user_ = rules_->group_of(client, listener, member);
  if (user_ != nullptr) {
    member.user = user_->name;
    member.user_groups = user_->groups;
  }
  with_user_ = rules_->group_of(client, listener, member);
  return {};
}

filter::Asker ClientView::asker() const {
  filter::Asker asker;
  if (client_) asker.client = *client_;
  if (user_ != nullptr && !is_exempt_) asker.user = user_->name;
  if (rules_ != nullptr) asker.group = rules_->name(group_);
  return asker;
}

std::string ClientView::take_user(const ClientQuestion& question, const IpAddress& client, bool is_transparent,
                                  Unknown unknown) {
  exceptions_ = with_called_users(std::move(exceptions_), names_.get());
  // A user without an address is somebody who logs in, from wherever that is.
  const bool is_anywhere = !client_ && !question.user.empty();
  must_log_in_ = logins_ != nullptr && !is_transparent && (is_anywhere || logins_->required.contains(client));
  if (question.user.empty()) return question.user_groups.empty() ? "" : "user-group: needs a user";
  if (!must_log_in_ && names_->sources.has_askers) {
    User named = *names_->named(question.user, at_);
    if (!question.user_groups.empty()) named.groups = question.user_groups;
    user_ = std::make_shared<const User>(std::move(named));
    return {};
  }
  if (logins_ == nullptr) {
    if (unknown == Unknown::taken) return {};
    return fmt::format("user {}: authentication.require is empty, so that nobody logs in", question.user);
  }
  UserPtr meant = user_meant_by(*logins_, question.user, question.user_groups);
  const UserTable::Entry* const known = logins_->users == nullptr ? nullptr : logins_->users->find(meant->name);
  if (known == nullptr && token_holder_ != nullptr) meant = token_holder_;
  const bool has_helpers = !logins_->basic_helper.command.empty() || logins_->has_negotiate;
  if (unknown == Unknown::refused && known == nullptr && question.user_groups.empty() && !has_helpers) {
    return fmt::format("user {}: not in authentication.users_file; give the groups of such a user by user-group",
                       question.user);
  }
  is_user_ignored_ = !must_log_in_;
  if (is_user_ignored_) return {};
  user_ = std::move(meant);
  return {};
}

const PolicyPtr& ClientView::policy_for(std::string_view host) {
  is_exempt_ = must_log_in_ && logins_->is_exempt(host);
  group_ = is_exempt_ ? without_user_ : with_user_;
  policy_ = policy_at(at_);
  return policy_;
}

// One that has not ended by then counts, whatever the clock says. They end one after the other, so that their number
// says which there are.
PolicyPtr ClientView::with_exceptions_at(Instant instant) {
  std::vector<filter::Override> exceptions;
  for (filter::Override made : exceptions_) {
    if (made.until <= instant) continue;
    made.until = filter::Override::kForever;
    exceptions.push_back(std::move(made));
  }
  PolicyPtr& known = with_exceptions_[exceptions.size()];
  if (known == nullptr) known = all_->with(std::move(exceptions));
  return known;
}

PolicyPtr ClientView::policy_at(Instant instant) {
  PolicyPtr& known = policies_[{group_, instant}];
  if (known == nullptr) {
    known = with_exceptions_at(instant);
    if (rules_ != nullptr) known = known->view(rules_->view_at(group_, instant, switches_));
  }
  return known;
}

Instant ClientView::next_change(Instant instant, const std::vector<std::uint64_t>& exceptions) const {
  const Instant next =
      rules_ == nullptr ? instant + Schedule::kHorizon : rules_->next_change(group_, instant, switches_);
  return std::min(next, next_end(instant, exceptions).value_or(next));
}

std::optional<Instant> ClientView::next_end(Instant instant, const std::vector<std::uint64_t>& exceptions) const {
  std::optional<Instant> next;
  for (const filter::Override& made : exceptions_) {
    const bool is_wanted = std::ranges::find(exceptions, made.id) != exceptions.end();
    if (!is_wanted || made.until <= instant || made.until == filter::Override::kForever) continue;
    next = std::min(next.value_or(made.until), Instant{made.until});
  }
  return next;
}

ClientView::End ClientView::holds_until(const std::function<std::string(const filter::Policy&)>& says,
                                        const std::vector<std::uint64_t>& exceptions) {
  const std::string now = says(*policy_);
  End end{.at = at_, .then = {}};
  Instant horizon = at_ + Schedule::kHorizon;
  for (int i = 0; i < kMostChanges; ++i) {
    end.at = next_change(end.at, exceptions);
    if (end.at >= horizon) {
      const auto last = next_end(horizon - 1, exceptions);
      if (!last) break;
      end.at = *last;
      horizon = *last + Schedule::kHorizon;
    }
    std::string then = says(*policy_at(end.at));
    if (then == now) continue;
    end.then = std::move(then);
    break;
  }
  return end;
}

std::string ClientView::client_text() const {
  if (!is_client_denied_) return {};
  return fmt::format("client      {}: not in access.clients: whatever it asks for is answered 403\n", client_->text());
}

std::string ClientView::user_text() const {
  if (is_user_ignored_) return "user        none: this client does not log in (authentication.require)\n";
  if (!must_log_in_ && user_ == nullptr) return {};
  if (is_exempt_) return "user        none: authentication.exempt_hosts\n";
  if (user_ == nullptr) return "user        none is given: without credentials this client is answered 407\n";
  return fmt::format(
      "user        {}{}: {}\n", printable(user_->name), must_log_in_ ? "" : ", as a program of `answers` says",
      user_->groups.empty() ? "no groups" : printable(fmt::format("groups {}", fmt::join(user_->groups, ", "))));
}

nlohmann::ordered_json ClientView::user_json() const {
  if (user_ == nullptr || is_exempt_) return {};
  return {{"name", user_->name}, {"groups", user_->groups}};
}

std::string ClientView::text() const {
  std::string out = client_text() + user_text();
  if (rules_ == nullptr) return out;
  out += fmt::format("group       {} ({} of {}): {}\ntime        {}; {}\nactions     {}\n", rules_->name(group_),
                     group_ + 1, rules_->size(), criteria_text(rules_->settings(group_)), time_text(at_) + again_text(),
                     schedules_text(*rules_, group_, at_, zone_), actions_text(*rules_, group_, at_, switches_));
  for (const Switch& made : switches_) {
    if (made.group != rules_->name(group_) || made.until <= at_) continue;
    out += fmt::format("switch      {} until {}\n", made.text(), time_text(made.until));
  }
  return out;
}

std::string ClientView::again_text() const {
  if (!again_) return {};
  return fmt::format(", the first of two; the second is --at {}", utc_text(*again_));
}

nlohmann::ordered_json ClientView::json() const {
  using nlohmann::ordered_json;
  if (rules_ == nullptr) return {};
  ordered_json schedules = ordered_json::array(), actions = ordered_json::object();
  for (const auto& [schedule, state] : rules_->schedules_at(group_, at_)) {
    const bool changes = state.until < at_ + Schedule::kHorizon;
    schedules.push_back({{"name", schedule->name()},
                         {"active", state.is_active},
                         {"until", changes ? ordered_json(utc_text(state.until)) : ordered_json()}});
  }
  ordered_json switches = ordered_json::array();
  for (const Switch& made : switches_) {
    if (made.group != rules_->name(group_) || made.until <= at_) continue;
    switches.push_back({{"switch", made.text()}, {"until", utc_text(made.until)}});
  }
  const filter::PolicyView view = rules_->view_at(group_, at_, switches_);
  for (std::size_t i = 0; i < view.actions.size(); ++i) actions[rules_->filters()[i]] = to_string(view.actions[i]);
  return {{"name", rules_->name(group_)},      {"index", group_},
          {"schedules", std::move(schedules)}, {"switches", std::move(switches)},
          {"actions", std::move(actions)},     {"otherwise", to_string(view.otherwise)}};
}

void ClientView::add_group(nlohmann::ordered_json& json) const {
  using nlohmann::ordered_json;
  ordered_json group = this->json();
  if (group.is_null()) group = {{"schedules", ordered_json::array()}, {"actions", ordered_json::object()}};
  json["at"] = utc_text(at_);
  json["group_index"] = group.value("index", ordered_json());
  json["schedules"] = std::move(group["schedules"]);
  json["actions"] = std::move(group["actions"]);
}

}  // namespace bloomwall::proxy
