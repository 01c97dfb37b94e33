// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/group_members.h"

#include <algorithm>
#include <set>

namespace bloomwall::proxy {
namespace {

using ValueSet = std::set<std::string>;

struct MemberCriteria {
  ValueSet users, user_groups, certificates;
};

// Whether all who match `narrow` match `wide`; an empty one is not asked.
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
    : users_(groups, &conf::Group::users),
      user_groups_(groups, &conf::Group::user_groups),
      certificates_(groups, &conf::Group::certificates) {
  open_ = users_.without() & user_groups_.without() & certificates_.without();
  std::vector<MemberCriteria> criteria;
  for (const conf::Group& group : groups) {
    const MemberCriteria& own =
        criteria.emplace_back(set_of(group.users), set_of(group.user_groups), set_of(group.certificates));
    GroupSet& covering = covering_.emplace_back();
    for (std::size_t i = 0; i + 1 < criteria.size(); ++i) {
      const MemberCriteria& earlier = criteria[i];
      const bool covers = holds_too(own.users, earlier.users) && holds_too(own.user_groups, earlier.user_groups) &&
                          holds_too(own.certificates, earlier.certificates);
      if (covers) covering.add(i);
    }
  }
}

GroupSet GroupMembers::Criterion::of_any(std::span<const std::string> values) const {
  GroupSet out = without_;
  for (const std::string& value : values) out = out | of(value);
  return out;
}

GroupSet GroupMembers::of(const GroupMember& member) const {
  GroupSet out = GroupSet::all();
  if (users_.is_asked()) out = users_.without() | (member.user.empty() ? GroupSet() : users_.of(member.user));
  if (user_groups_.is_asked()) out = out & user_groups_.of_any(member.user_groups);
  if (certificates_.is_asked()) out = out & certificates_.of_any(member.certificate);
  return out;
}

}  // namespace bloomwall::proxy
