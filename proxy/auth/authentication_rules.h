// `authentication:` as compiled: who must say who they are, what needs nobody's name, and who is known.
// Immutable, a part of the snapshot; thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/units.h"
#include "conf/authentication.h"
#include "proxy/access/access_rules.h"
#include "proxy/access/host_lists.h"
#include "proxy/auth/user_table.h"

namespace bloomwall::proxy {

struct AuthenticationRules {
  using Ptr = std::shared_ptr<const AuthenticationRules>;

  CidrSet required;  // clients
  BypassList exempt;
  bool has_exempt = false;
  bool basic_without_tls = true;
  UserTable::Ptr users;
  std::string challenge;  // value of Proxy-Authenticate
  Milliseconds cache{0}, lock{0};
  std::uint32_t attempts = 0;

  // nullptr where nobody must say who they are; the users file is read all the same. Errors one line each, which begins
  // with the key. `before`: what a reload replaces.
  static tl::expected<Ptr, std::vector<std::string>> compile(const conf::Authentication& settings, const Ptr& before);

  // The host of a request, canonical: it needs no user.
  bool is_exempt(std::string_view host) const { return has_exempt && exempt.contains(host); }
  // Whom the name of a user that was accepted earlier stands for by now; nullptr: it is gone, or has ended.
  UserPtr current(const User& user, std::int64_t now) const;
};
using AuthenticationRulesPtr = AuthenticationRules::Ptr;

}  // namespace bloomwall::proxy
