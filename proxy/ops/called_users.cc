// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/called_users.h"

#include <cstddef>
#include <utility>

namespace bloomwall::proxy {

std::vector<filter::Override> with_called_users(std::vector<filter::Override> exceptions,
                                                const AuthenticationRules* rules) {
  if (rules == nullptr || rules->basic_helper.command.empty()) return exceptions;
  const std::size_t written = exceptions.size();
  for (std::size_t i = 0; i < written; ++i) {
    if (exceptions[i].user.empty()) continue;
    auto called = rules->called(exceptions[i].user);
    if (!called || *called == exceptions[i].user) continue;
    filter::Override made = exceptions[i];
    made.user = *std::move(called);
    exceptions.push_back(std::move(made));
  }
  return exceptions;
}

}  // namespace bloomwall::proxy
