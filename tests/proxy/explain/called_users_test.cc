// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/called_users.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bloomwall::proxy {
namespace {

std::vector<std::string> users_of(const std::vector<filter::Override>& exceptions) {
  std::vector<std::string> users;
  for (const filter::Override& made : exceptions) users.push_back(made.user);
  return users;
}

TEST(CalledUsers, HaveExceptionsThatWereWrittenOtherwise) {
  std::vector<filter::Override> made(3);
  made[0].user = "Anna";
  made[0].id = 7;
  made[1].user = "bob";
  AuthenticationRules rules;
  const std::vector<std::string> written{"Anna", "bob", ""};
  EXPECT_EQ(users_of(with_called_users(made, nullptr)), written);
  EXPECT_EQ(users_of(with_called_users(made, &rules)), written) << "no helper is asked";
  rules.sources.has_passwords = true;
  const auto with = with_called_users(made, &rules);
  EXPECT_EQ(users_of(with), (std::vector<std::string>{"Anna", "bob", "", "anna"}));
  EXPECT_EQ(with.back().id, 7U);
  made[1].user = "Bob@EXAMPLE.COM";
  rules.sources.has_tickets = true;
  EXPECT_EQ(users_of(with_called_users(made, &rules)),
            (std::vector<std::string>{"Anna", "Bob@EXAMPLE.COM", "", "anna", "bob@example.com", "bob@EXAMPLE.COM"}));
  rules.sources.has_passwords = false;
  EXPECT_EQ(users_of(with_called_users(made, &rules)),
            (std::vector<std::string>{"Anna", "Bob@EXAMPLE.COM", "", "anna", "bob@EXAMPLE.COM"}));
  made[1].user = "bob";
  rules.sources = {.has_askers = true};
  EXPECT_EQ(users_of(with_called_users(made, &rules)), (std::vector<std::string>{"Anna", "bob", "", "anna"}));
  rules.sources.case_sensitive = true;
  EXPECT_EQ(users_of(with_called_users(made, &rules)), written);
}

}  // namespace
}  // namespace bloomwall::proxy
