// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/authentication_rules.h"

#include <fmt/format.h>

#include <utility>

namespace bloomwall::proxy {

tl::expected<AuthenticationRulesPtr, std::vector<std::string>> AuthenticationRules::compile(
    const conf::Authentication& settings, const Ptr& before) {
  std::vector<std::string> errors;
  auto rules = std::make_shared<AuthenticationRules>();
  auto required = CidrSet::build(settings.require);
  if (!required) errors.push_back(fmt::format("authentication.require: not a network: {}", required.error()));
  auto exempt = BypassList::build(settings.exempt_hosts);
  if (!exempt) errors.push_back(fmt::format("authentication.exempt_hosts: not a host: {}", exempt.error()));
  if (!settings.users_file.empty()) {
    auto users = UserTable::load(settings.users_file, before == nullptr ? nullptr : before->users);
    if (users) {
      rules->users = *std::move(users);
    } else {
      for (const std::string& error : users.error()) errors.push_back("authentication.users_file: " + error);
    }
  } else if (!settings.require.empty()) {
    errors.emplace_back("authentication.require: nobody could log in without authentication.users_file");
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  if (settings.require.empty()) return nullptr;
  rules->required = *std::move(required);
  rules->exempt = *std::move(exempt);
  rules->has_exempt = !settings.exempt_hosts.empty();
  rules->basic_without_tls = settings.basic_without_tls;
  rules->challenge = fmt::format("Basic realm=\"{}\", charset=\"UTF-8\"", settings.realm);
  rules->cache = settings.cache;
  rules->lock = settings.lock;
  rules->attempts = settings.attempts;
  return rules;
}

UserPtr AuthenticationRules::current(const User& user, std::int64_t now) const {
  const UserTable::Entry* const entry = users->find(user.name);
  return entry == nullptr || now >= entry->user->until ? nullptr : entry->user;
}

}  // namespace bloomwall::proxy
