// Rules of which the first that matches decides, as groups: for each set of people that the rules can tell apart, the
// lists that are asked, in order, and what is decided where none of them matches. That is the order in which filters
// are asked, so the result decides as the rules did; what cannot be said in it is reported at the rule.
// Pure functions. Cost: people times rules; at most kMostClasses sets of people (people_classes.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "proxy/import/rule_model.h"

namespace bloomwall::proxy::foreign {

inline constexpr std::size_t kNoList = std::numeric_limits<std::size_t>::max();

struct Step {
  std::size_t list = kNoList;  // kNoList: everything
  bool allow = false;
  std::vector<Condition> when = {};  // in one of these times; empty: always
  friend bool operator==(const Step&, const Step&) = default;
};

struct CompiledGroup {
  std::string name;
  std::optional<filter::RangeSet> clients;  // nothing: everybody
  std::vector<std::string> users, user_groups;
  std::vector<Step> steps;
  bool otherwise = true;
  bool has_to_log_in = false;

  bool allows_nothing() const;
};

// In the order in which bloomwall must ask them: a group whose people are among those of another stands before it.
// Groups of people who may not use the proxy at all are left out, unless others with their addresses may.
std::vector<CompiledGroup> compile_groups(Imported& imported);

}  // namespace bloomwall::proxy::foreign
