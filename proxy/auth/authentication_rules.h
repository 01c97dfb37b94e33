// `authentication:` as compiled: which clients must log in, how, what needs no login, and the users.
// Immutable, a part of the snapshot; thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "conf/authentication.h"
#include "conf/sections.h"
#include "proxy/access/access_rules.h"
#include "proxy/access/host_lists.h"
#include "proxy/access/user_name.h"
#include "proxy/auth/user_table.h"

namespace bloomwall::proxy {

struct AuthenticationRules {
  using Ptr = std::shared_ptr<const AuthenticationRules>;

  CidrSet required;  // clients
  BypassList exempt;
  bool has_exempt = false;
  bool has_basic = false, has_negotiate = false;  // offered, and there is who can check
  bool basic_without_tls = true;
  bool strip_realm = false, case_sensitive = false;
  UserTable::Ptr users;                                            // nullptr: there is no file
  conf::AuthHelper basic_helper, negotiate_helper, groups_helper;  // without a command: none
  std::vector<std::string> user_groups;                            // that groups_helper is asked about
  Milliseconds cache{0}, lock{0};
  std::uint32_t attempts = 0;
  // edition: equal for rules by which every user is the same. helpers, tickets: of those alone whom helpers know by a
  // password or by a ticket; never 0, and never equal to each other.
  std::uint64_t edition = 0, helpers = 0, tickets = 0;
  std::string fields, fields_without_basic;  // Proxy-Authenticate, one field for each scheme, with CRLF
  // Of the users file by folded names, for askers; empty where none is believed, and where case counts.
  std::unordered_map<std::string, UserPtr> by_folded_name;
  NameSources sources;  // of names of users

  // Also where nobody must log in. Errors one line each, which begins with the key.
  // `before`: what a reload replaces.
  // `user_groups`: those that any group asks for. `doors`: whose askers may name users.
  static tl::expected<Ptr, std::vector<std::string>> compile(const conf::Authentication& settings, const Ptr& before,
                                                             std::vector<std::string> user_groups = {},
                                                             std::span<const conf::Answers> doors = {});

  // Whether secrets that can be read on the way may be sent on such a connection, tokens among them.
  bool takes_secrets(bool is_secure) const { return basic_without_tls || is_secure; }
  bool takes_basic(bool is_secure) const { return has_basic && (basic_without_tls || is_secure); }
  const std::string& challenge(bool is_secure) const { return takes_basic(is_secure) ? fields : fields_without_basic; }

  // The host of a request, canonical: it needs no user.
  bool is_exempt(std::string_view host) const { return has_exempt && exempt.contains(host); }
  // What a user is called who spells the name so and logs in with a password: as the users file has it, or, of a name
  // that basic_helper is asked about, folded. Nothing: not a user's name.
  std::optional<std::string> called(std::string_view spelt) const;
  // What a user is called whose ticket has that name: folded, and without its realm where strip_realm says so.
  std::optional<std::string> called_by_ticket(std::string_view name) const;
  // Whom an asker means that is believed for users (`answers[].users`) and spells the name so: folded unless
  // case_sensitive, with the groups that the users file gives that name, as long as its time there is not over.
  UserPtr named(std::string_view spelt, std::int64_t now) const;
  // Other names of a user who is spelt so, by the sources of names.
  std::vector<std::string> other_names(std::string_view spelt) const;
  // Whether the users file says about that name, and not a helper.
  bool is_listed(std::string_view name) const;
  // Whom the name, or the token, of a user that was accepted earlier stands for by now; nullptr: it is gone, or has
  // ended.
  UserPtr current(const UserPtr& user, std::int64_t now) const;
  // Who a user is by these rules who logged in under other ones with a password and that spelling of the name: as its
  // line says now, if that still has the hash which the password was compared with. nullptr: the password must be
  // checked again.
  UserPtr still(const std::string& spelt, const UserPtr& user) const;
};
using AuthenticationRulesPtr = AuthenticationRules::Ptr;

}  // namespace bloomwall::proxy
