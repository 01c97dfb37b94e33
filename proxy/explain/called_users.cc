// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/called_users.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace bloomwall::proxy {

std::vector<filter::Override> with_called_users(std::vector<filter::Override> exceptions,
                                                const AuthenticationRules* rules) {
  if (rules == nullptr) return exceptions;
  const std::size_t written = exceptions.size();
  for (std::size_t i = 0; i < written; ++i) {
    if (exceptions[i].user.empty()) continue;
    for (std::string& called : rules->other_names(exceptions[i].user)) {
      filter::Override made = exceptions[i];
      made.user = std::move(called);
      exceptions.push_back(std::move(made));
    }
  }
  return exceptions;
}

UserPtr user_meant_by(const AuthenticationRules& rules, const std::string& spelt,
                      const std::vector<std::string>& groups) {
  const auto entry_of = [&](const std::string& name) {
    return rules.users == nullptr ? nullptr : rules.users->find(name);
  };
  const auto called = entry_of(spelt) != nullptr ? std::optional(spelt)
                      : rules.has_negotiate      ? rules.called_by_ticket(spelt)
                                                 : rules.called(spelt);
  const std::string name = called.value_or(spelt);
  const UserTable::Entry* const known = entry_of(name);
  if (known != nullptr && groups.empty()) return known->user;
  return std::make_shared<const User>(User{.name = name, .groups = groups});
}

}  // namespace bloomwall::proxy
