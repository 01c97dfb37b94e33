// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/group_members.h"

#include <algorithm>
#include <set>

namespace bloomwall::proxy {
namespace {

using ValueSet = std::set<std::string>;

struct MemberCriteria {
  ValueSet users, user_groups;
};

// Whether whoever fulfils `narrow` fulfils `wide`; an empty one is not asked.
bool holds_too(const ValueSet& narrow, const ValueSet& wide) {
  return wide.empty() || (!narrow.empty() && std::ranges::includes(wide, narrow));
}

ValueSet set_of(const std::vector<std::string>& values) { return {values.begin(), values.end()}; }

}  // namespace

GroupMembers::Criterion::Criterion(const std::vector<conf::Group>& groups, const Values conf::Group::* values) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Values& own = groups[i].*values;
    if (own.empty()) without_.add(i);
    for (const std::string& value : own) by_value_[value].add(i);
  }
}

GroupSet GroupMembers::Criterion::of(std::string_view value) const {
  const auto found = by_value_.find(value);
  return found == by_value_.end() ? GroupSet() : found->second;
}

GroupMembers::GroupMembers(const std::vector<conf::Group>& groups)
    : users_(groups, &conf::Group::users), user_groups_(groups, &conf::Group::user_groups) {
  open_ = users_.without() & user_groups_.without();
  std::vector<MemberCriteria> criteria;
  for (const conf::Group& group : groups) {
    const MemberCriteria& own = criteria.emplace_back(set_of(group.users), set_of(group.user_groups));
    GroupSet& covering = covering_.emplace_back();
    for (std::size_t i = 0; i + 1 < criteria.size(); ++i) {
      const MemberCriteria& earlier = criteria[i];
      if (holds_too(own.users, earlier.users) && holds_too(own.user_groups, earlier.user_groups)) covering.add(i);
    }
  }
}

GroupSet GroupMembers::of(const GroupMember& member) const {
  GroupSet out = GroupSet::all();
  if (users_.is_asked()) out = users_.without() | (member.user.empty() ? GroupSet() : users_.of(member.user));
  if (!user_groups_.is_asked()) return out;
  GroupSet by_group = user_groups_.without();
  for (const std::string& group : member.user_groups) by_group = by_group | user_groups_.of(group);
  return out & by_group;
}

}  // namespace bloomwall::proxy
