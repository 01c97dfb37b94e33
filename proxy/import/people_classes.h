// The sets of people that imported rules can tell apart: by address, and by login.
// Pure functions. Cost: people times pieces of their addresses, at most kMostClasses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "filter/url/address_range.h"
#include "proxy/import/rule_model.h"

namespace bloomwall::proxy::foreign {

inline constexpr std::size_t kMostClasses = 256;

using Indexes = std::set<std::size_t>;  // of people

// One set of people that the rules can tell apart: by address, and by login.
struct Class {
  Indexes addresses;  // the people whose clients these are
  Indexes logins;     // the people whose users or user groups these are
  std::vector<std::string> users, user_groups;
};

filter::RangeSet common(const filter::RangeSet& a, const filter::RangeSet& b);

// The people of which a rule makes use.
Indexes used_people(const Imported& imported);
// Which people an address can belong to at once: the addresses are cut at every border of somebody's. Empty: they are
// too many.
std::vector<Indexes> address_sets(const Imported& imported, const Indexes& used);
// Users that rules name, by the rules that name them; then user groups; then everybody.
std::vector<Class> login_sets(const Imported& imported, const Indexes& used);

}  // namespace bloomwall::proxy::foreign
