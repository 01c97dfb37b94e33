// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/name_review.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "base/terminal.h"
#include "base/text.h"

namespace bloomwall::proxy {
namespace {

// "; pupils is there" of a name that differs in case alone.
template <typename Names>
std::string other_case(std::string_view name, const Names& names) {
  for (const std::string_view each : names) {
    if (equals_ignoring_case(each, name)) return fmt::format("; {} is there", printable(each));
  }
  return {};
}

std::vector<std::string_view> group_names(const GroupRules* rules) {
  std::vector<std::string_view> out;
  for (std::size_t group = 0; rules != nullptr && group < rules->size(); ++group) out.emplace_back(rules->name(group));
  return out;
}

template <typename Names>
bool has_name(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string fault_of_group(const GroupRules* rules, std::string_view name) {
  const auto names = group_names(rules);
  if (names.empty()) return fmt::format("the configuration has no group {}", printable(name));
  if (has_name(names, name)) return {};
  return fmt::format("there is no group {}{}", printable(name), other_case(name, names));
}

template <typename Names>
std::string fault_of_filter(std::string_view name, const Names& names) {
  if (has_name(names, name)) return {};
  return fmt::format("there is no filter {}{}", printable(name), other_case(name, names));
}

}  // namespace

std::string unknown_group(const GroupRules* rules, std::string_view name) {
  if (rules == nullptr) return "the configuration has no groups";
  std::string names;
  for (std::size_t group = 0; group < rules->size(); ++group) {
    if (rules->name(group) == name) return {};
    names += (group == 0 ? "" : ", ") + rules->name(group);
  }
  return fmt::format("there is no group {}; there are {}", printable(std::string(name)), names);
}

std::string fault_of_switch(const GroupRules* rules, const Switch& made) {
  if (std::string fault = fault_of_group(rules, made.group); !fault.empty()) return fault;
  return made.what == Switch::What::filter ? fault_of_filter(made.filter, rules->filters()) : std::string();
}

NameReview::NameReview(const Snapshot& snapshot, const TokenTable* tokens) : snapshot_(snapshot), tokens_(tokens) {
  const AuthenticationRules* const rules = snapshot.authentication.get();
  has_helpers_ = rules != nullptr && (!rules->basic_helper.command.empty() || rules->has_negotiate);
  has_askers_ = snapshot.names->sources.has_askers;
}

std::set<std::string, std::less<>> NameReview::user_groups() const {
  std::set<std::string, std::less<>> out;
  if (tokens_ != nullptr) {
    for (const Token& token : tokens_->all()) out.insert(token.groups.begin(), token.groups.end());
  }
  const AuthenticationRules& rules = *snapshot_.names;
  if (rules.users == nullptr) return out;
  rules.users->each(
      [&](const UserTable::Entry& entry) { out.insert(entry.user->groups.begin(), entry.user->groups.end()); });
  return out;
}

std::string NameReview::fault_of_filter(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const conf::Filter& filter : snapshot_.settings.filters) names.emplace_back(filter.name);
  return proxy::fault_of_filter(name, names);
}

std::string NameReview::fault_of_user(const std::string& name) const {
  if (has_askers_) return {};
  const AuthenticationRules* const rules = snapshot_.authentication.get();
  if (rules == nullptr) return fmt::format("{}: nobody logs in (authentication.require is empty)", printable(name));
  if (has_helpers_) return {};
  if (rules->users != nullptr && rules->users->find(name) != nullptr) return {};
  if (tokens_ != nullptr && tokens_->has_holder(name)) return {};
  std::vector<std::string_view> names;
  if (rules->users != nullptr) {
    rules->users->each([&](const UserTable::Entry& entry) { names.emplace_back(entry.user->name); });
  }
  return fmt::format("nobody logs in as {}: it is no name of authentication.users_file{}{}", printable(name),
                     tokens_ == nullptr ? " (a token may have it: `bloomwall token list`)" : ", and no token has it",
                     other_case(name, names));
}

std::string NameReview::fault_of_user_group(const std::string& name,
                                            const std::set<std::string, std::less<>>& known) const {
  const bool has_users = snapshot_.authentication != nullptr || has_askers_;
  if (has_helpers_ || !has_users || known.contains(name)) return {};
  return fmt::format("no user of authentication.users_file is in {}{}{}", printable(name),
                     tokens_ == nullptr ? " (a token may be: `bloomwall token list`)" : ", and no token is",
                     other_case(name, known));
}

std::string NameReview::fault_of(const filter::Override& exception) const {
  if (!exception.group.empty()) {
    if (std::string fault = fault_of_group(snapshot_.groups.get(), exception.group); !fault.empty()) return fault;
  }
  if (!exception.user.empty()) {
    if (std::string fault = fault_of_user(exception.user); !fault.empty()) return fault;
  }
  std::string first;
  for (const std::string& filter : exception.filters) {
    std::string fault = fault_of_filter(filter);
    if (fault.empty()) return {};
    if (first.empty()) first = std::move(fault);
  }
  return first;
}

std::vector<std::string> NameReview::faults_of_reviewer(std::span<const std::string> groups) const {
  std::vector<std::string> out;
  for (const std::string& group : groups) {
    if (std::string fault = fault_of_group(snapshot_.groups.get(), group); !fault.empty()) {
      out.push_back(fault + ": the reviewer may change nothing for it");
    }
  }
  return out;
}

std::vector<std::string> NameReview::faults_of(const Token& token) const {
  if (!token.role || token.groups.empty()) return {};
  if (*token.role == Role::reviewer) return faults_of_reviewer(token.groups);
  if (*token.role == Role::viewer) return {};
  return {fmt::format("groups limit reviewers alone: one with the role {} may change everything for everybody",
                      to_string(*token.role))};
}

std::vector<std::string> NameReview::configured() const {
  std::vector<std::string> out;
  const auto note = [&](const conf::Group& group, const char* key, const std::string& fault) {
    if (!fault.empty()) out.push_back(fmt::format("groups: {}.{}: {}", printable(group.name), key, fault));
  };
  const auto known = user_groups();
  const bool has_logins = snapshot_.authentication != nullptr;  // else there is a warning of that
  for (const conf::Group& group : snapshot_.settings.groups) {
    for (const std::string& user : group.users) {
      if (has_logins) note(group, "users", fault_of_user(user));
    }
    for (const std::string& name : group.user_groups) note(group, "user_groups", fault_of_user_group(name, known));
  }
  for (const auto& [folded, user] : snapshot_.names->by_folded_name) {
    if (user != nullptr) continue;
    out.push_back(
        fmt::format("authentication.users_file: more than one line is of {} where programs of answers name "
                    "users: none gives it groups; authentication.case_sensitive tells them apart",
                    printable(folded)));
  }
  if (snapshot_.admin_users == nullptr) return out;
  snapshot_.admin_users->each([&](const UserTable::Entry& entry) {
    for (const std::string& fault : faults_of_reviewer(entry.user->groups)) {
      out.push_back(fmt::format("admin.users_file: {}: {}", printable(entry.user->name), fault));
    }
  });
  return out;
}

VoidNames find_void_names(const NameReview& review, std::span<const ExceptionItem> exceptions,
                          std::span<const SwitchItem> switches, const TokenTable* tokens) {
  VoidNames out;
  std::size_t unlisted = 0;
  const auto warn = [&](std::string line) {
    out.warnings.size() < VoidNames::kMostLines ? out.warnings.push_back(std::move(line)) : void(++unlisted);
  };
  const std::int64_t now = std::time(nullptr);
  for (const ExceptionItem& item : exceptions) {
    if (item.exception.until <= now) continue;
    const std::string fault = review.fault_of(item.exception);
    if (fault.empty()) continue;
    const bool is_deny = item.exception.action == filter::Override::Action::deny;
    ++(is_deny ? out.denied : out.allowed);
    warn(fmt::format("exception {} is void, {} {}: {}; `bloomwall exceptions remove {}` removes it", item.exception.id,
                     is_deny ? "deny" : "allow", printable(item.exception.entry), fault, item.exception.id));
  }
  for (const SwitchItem& item : switches) {
    if (item.made.until <= now) continue;
    const std::string fault = review.fault_of(item.made);
    if (fault.empty()) continue;
    ++out.switches;
    warn(fmt::format("switch {} of group {} is void: {}; `bloomwall switch {} {} --end` removes it", item.made.text(),
                     printable(item.made.group), fault, printable(item.made.group), item.made.key()));
  }
  for (const Token& token : tokens == nullptr ? std::span<const Token>() : std::span<const Token>(tokens->all())) {
    if (token.until <= now) continue;
    const auto faults = review.faults_of(token);
    out.tokens += faults.empty() ? 0U : 1U;
    for (const std::string& fault : faults) warn(fmt::format("token {}: {}", token.name, fault));
  }
  if (unlisted > 0) out.warnings.push_back(fmt::format("{} more exceptions, switches and tokens like these", unlisted));
  return out;
}

}  // namespace bloomwall::proxy
