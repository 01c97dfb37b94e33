// Whether names that people have written down still mean anybody or anything: groups, users and filters in exceptions,
// switches and tokens (the state), and users and groups in the configuration itself. A group that is renamed voids the
// exceptions for it, so these are looked at whenever either side changes: when one is made, by `check`, and at each
// start, reload and upgrade. A name that a helper or a ticket may know is not faulted: nobody here can tell. Each
// question costs a few look-ups; configured() is linear in users and tokens. Pure; threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/overrides.h"
#include "proxy/access/switches.h"
#include "proxy/decision/snapshot.h"
#include "proxy/state/exception_item.h"
#include "proxy/state/switch_item.h"
#include "proxy/state/tokens.h"

namespace bloomwall::proxy {

// Why there is no group of that name, and which there are; empty: there is one. `rules`: nullptr: there are none.
std::string unknown_group(const GroupRules* rules, std::string_view name);

// Why a switch has no effect by these groups (nullptr: there are none); empty: it may have one.
std::string fault_of_switch(const GroupRules* rules, const Switch& made);

class NameReview {
 public:
  // Both must outlive it. `tokens`: nullptr where they cannot be read; a user may be the holder of one.
  NameReview(const Snapshot& snapshot, const TokenTable* tokens);

  // Why it has no effect: a phrase for people; empty: it may have one.
  std::string fault_of(const filter::Override& exception) const;
  std::string fault_of(const Switch& made) const { return fault_of_switch(snapshot_.groups.get(), made); }
  // Why a token's groups and role are not what they seem, one line each.
  std::vector<std::string> faults_of(const Token& token) const;
  // Of the configuration: groups[].users and user_groups of nobody, and admin.users_file. One line each.
  std::vector<std::string> configured() const;

 private:
  std::string fault_of_filter(std::string_view name) const;
  std::string fault_of_user(const std::string& name) const;
  std::set<std::string, std::less<>> user_groups() const;  // of users_file and tokens
  std::string fault_of_user_group(const std::string& name, const std::set<std::string, std::less<>>& known) const;
  std::vector<std::string> faults_of_reviewer(std::span<const std::string> groups) const;

  const Snapshot& snapshot_;
  const TokenTable* const tokens_;
  bool has_helpers_ = false;  // who know users that are written nowhere here
  bool has_askers_ = false;   // likewise programs that ask (`answers`)
};

// How many of each have no effect, and what to say of them: one line each, kMostLines at most.
struct VoidNames {
  static constexpr std::size_t kMostLines = 20;
  std::size_t allowed = 0, denied = 0, switches = 0, tokens = 0;
  std::vector<std::string> warnings;
};
VoidNames find_void_names(const NameReview& review, std::span<const ExceptionItem> exceptions,
                          std::span<const SwitchItem> switches, const TokenTable* tokens);

}  // namespace bloomwall::proxy
