// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/authentication_rules.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "proxy/access/user_name.h"
#include "proxy/state/tokens.h"

namespace bloomwall::proxy {
namespace {

using Errors = std::vector<std::string>;

void check_helper(std::string_view name, const conf::AuthHelper& helper, Errors& errors) {
  if (helper.command.empty() || ::access(helper.command.front().c_str(), X_OK) == 0) return;
  errors.push_back(fmt::format("authentication.{}.command: {}: {}", name, helper.command.front(),
                               std::generic_category().message(errno)));
}

// Who is whom by that helper depends on these alone. `before`: what else it depends on.
std::uint64_t edition_of(const AuthenticationRules& rules, const conf::AuthHelper& asked, std::string_view before) {
  std::string text(before);
  text.push_back(rules.case_sensitive ? '1' : '0');
  for (const auto* helper : {&asked, &rules.groups_helper}) {
    for (const std::string& word : helper->command) text.append(word).push_back('\0');
    text.push_back('\n');
  }
  for (const std::string& group : rules.user_groups) text.append(group).push_back('\0');
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  std::uint64_t first = 0;
  std::memcpy(&first, digest.data(), sizeof first);
  return first | 1U;
}

void load_users(AuthenticationRules& rules, const conf::Authentication& settings, const AuthenticationRulesPtr& before,
                Errors& errors) {
  if (settings.users_file.empty()) return;
  auto users = UserTable::load(settings.users_file, before == nullptr ? nullptr : before->users);
  if (!users) {
    for (const std::string& error : users.error()) errors.push_back("authentication.users_file: " + error);
    return;
  }
  rules.users = *std::move(users);
}

void load_helpers(AuthenticationRules& rules, const conf::Authentication& settings, Errors& errors) {
  rules.basic_helper = settings.basic_helper;
  rules.negotiate_helper = settings.negotiate_helper;
  rules.groups_helper = settings.groups_helper;
  check_helper("basic_helper", rules.basic_helper, errors);
  check_helper("negotiate_helper", rules.negotiate_helper, errors);
  check_helper("groups_helper", rules.groups_helper, errors);
}

void offer_schemes(AuthenticationRules& rules, const conf::Authentication& settings) {
  for (const std::string& scheme : settings.schemes) {
    if (scheme == "basic" && (rules.users != nullptr || !rules.basic_helper.command.empty())) {
      rules.has_basic = true;
      rules.fields += fmt::format("Proxy-Authenticate: Basic realm=\"{}\", charset=\"UTF-8\"\r\n", settings.realm);
    }
    if (scheme == "negotiate" && !rules.negotiate_helper.command.empty()) {
      rules.has_negotiate = true;
      rules.fields += "Proxy-Authenticate: Negotiate\r\n";
      rules.fields_without_basic = "Proxy-Authenticate: Negotiate\r\n";
    }
  }
}

// Of two lines whose names differ in case alone neither counts, unless one is written as both fold.
void list_folded_names(AuthenticationRules& rules) {
  if (!rules.sources.has_askers || rules.case_sensitive || rules.users == nullptr) return;
  rules.users->each([&](const UserTable::Entry& entry) {
    const std::string folded = fold_user_name(entry.user->name).value_or(entry.user->name);
    const auto [at, is_new] = rules.by_folded_name.emplace(folded, entry.user);
    if (!is_new) at->second = nullptr;
  });
  for (auto& [folded, user] : rules.by_folded_name) {
    if (const UserTable::Entry* const exact = rules.users->find(folded)) user = exact->user;
  }
}

}  // namespace

tl::expected<AuthenticationRulesPtr, std::vector<std::string>> AuthenticationRules::compile(
    const conf::Authentication& settings, const Ptr& before, std::vector<std::string> user_groups,
    std::span<const conf::Answers> doors) {
  Errors errors;
  auto rules = std::make_shared<AuthenticationRules>();
  auto required = CidrSet::build(settings.require);
  if (!required) errors.push_back(fmt::format("authentication.require: not a network: {}", required.error()));
  auto exempt = BypassList::build(settings.exempt_hosts);
  if (!exempt) errors.push_back(fmt::format("authentication.exempt_hosts: not a host: {}", exempt.error()));
  load_users(*rules, settings, before, errors);
  load_helpers(*rules, settings, errors);
  offer_schemes(*rules, settings);
  const bool nobody_can = !settings.require.empty() && !rules->has_basic && !rules->has_negotiate;
  if (nobody_can && errors.empty()) {
    errors.emplace_back(
        "authentication.require: nobody could log in without users_file, basic_helper or "
        "negotiate_helper");
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  rules->required = *std::move(required);
  rules->exempt = *std::move(exempt);
  rules->has_exempt = !settings.exempt_hosts.empty();
  rules->basic_without_tls = settings.basic_without_tls;
  rules->strip_realm = settings.strip_realm;
  rules->case_sensitive = settings.case_sensitive;
  rules->sources = NameSources::of(settings, doors);
  list_folded_names(*rules);
  std::ranges::sort(user_groups);
  user_groups.erase(std::unique(user_groups.begin(), user_groups.end()), user_groups.end());
  rules->user_groups = std::move(user_groups);
  rules->cache = settings.cache;
  rules->lock = settings.lock;
  rules->attempts = settings.attempts;
  rules->helpers = edition_of(*rules, rules->basic_helper, "password ");
  rules->tickets = edition_of(*rules, rules->negotiate_helper, rules->strip_realm ? "ticket " : "ticket@realm ");
  rules->edition = rules->helpers ^ (rules->users == nullptr ? 0 : rules->users->edition());
  return rules;
}

bool AuthenticationRules::is_listed(std::string_view name) const {
  return users != nullptr && (basic_helper.command.empty() || users->find(name) != nullptr);
}

std::optional<std::string> AuthenticationRules::called(std::string_view spelt) const {
  if (case_sensitive || is_listed(spelt)) return std::string(spelt);
  return fold_user_name(spelt);
}

std::optional<std::string> AuthenticationRules::called_by_ticket(std::string_view name) const {
  const std::size_t at = strip_realm ? name.rfind('@') : std::string_view::npos;
  if (at != std::string_view::npos && at > 0) name = name.substr(0, at);
  return case_sensitive ? std::string(name) : fold_principal_name(name);
}

UserPtr AuthenticationRules::named(std::string_view spelt, std::int64_t now) const {
  std::string name(spelt);
  if (!case_sensitive) name = fold_user_name(spelt).value_or(std::move(name));
  UserPtr listed;
  if (case_sensitive) {
    const UserTable::Entry* const entry = users == nullptr ? nullptr : users->find(name);
    if (entry != nullptr) listed = entry->user;
  } else if (const auto at = by_folded_name.find(name); at != by_folded_name.end()) {
    listed = at->second;
  }
  if (listed == nullptr || now >= listed->until) return std::make_shared<const User>(User{.name = std::move(name)});
  if (listed->name == name) return listed;
  User user = *listed;
  user.name = std::move(name);
  return std::make_shared<const User>(std::move(user));
}

std::vector<std::string> AuthenticationRules::other_names(std::string_view spelt) const {
  NameSources asked = sources;
  if (users != nullptr && users->find(spelt) != nullptr) asked.has_passwords = false;  // that is another user's name
  return asked.other_names(spelt);
}

UserPtr AuthenticationRules::current(const UserPtr& user, std::int64_t now) const {
  if (user->token) {
    const TokenTablePtr tokens = user->token->tokens->get();
    const Token* const token = tokens->find(user->token->digest);
    return token == nullptr || now >= token->until ? nullptr : user;
  }
  if (user->helpers != 0) return user->helpers == helpers || user->helpers == tickets ? user : nullptr;
  const UserTable::Entry* const entry = users == nullptr ? nullptr : users->find(user->name);
  return entry == nullptr || now >= entry->user->until ? nullptr : entry->user;
}

UserPtr AuthenticationRules::still(const std::string& spelt, const UserPtr& user) const {
  const auto name = called(spelt);
  if (!name) return nullptr;
  if (!is_listed(*name)) return user->helpers == helpers ? user : nullptr;
  const UserTable::Entry* const entry = users->find(*name);
  const bool is_same = entry != nullptr && user->helpers == 0 && entry->user->name == user->name &&
                       entry->user->password == user->password;
  return is_same ? entry->user : nullptr;
}

}  // namespace bloomwall::proxy
