// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/group_policies.h"

#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace bloomwall::proxy {

std::shared_ptr<const GroupPolicies> GroupPolicies::make(const GroupRules* rules, const PolicyPtr& all, Instant at,
                                                         const SwitchesPtr& switches) {
  if (rules == nullptr) return nullptr;
  auto made = std::make_shared<GroupPolicies>();
  made->made_at_ = at;
  made->switches_ = switches;
  const std::span<const Switch> over = made->switches();
  made->until_ = next_end(over, at, rules->next_change(at));
  std::map<std::tuple<std::vector<filter::FilterAction>, filter::Otherwise, std::size_t>, PolicyPtr> known;
  for (std::size_t group = 0; group < rules->size(); ++group) {
    const filter::PolicyView view = rules->view_at(group, at, over);
    PolicyPtr& policy = known[{view.actions, view.otherwise, view.allow_lists}];
    if (policy == nullptr) policy = all->is(view) ? all : all->view(view);
    made->policies_.push_back(policy);
    made->views_.push_back(view);
    made->has_networks_ |= policy->has_networks();
  }
  return made;
}

std::string describe_changes(const GroupRules& rules, const GroupPolicies& before, const GroupPolicies& now) {
  std::string out;
  for (std::size_t group = 0; group < rules.size(); ++group) {
    const filter::PolicyView &was = before.views()[group], &is = now.views()[group];
    if (was == is) continue;
    out += (out.empty() ? "" : "; ") + rules.name(group) + ":";
    const char* separator = " ";
    const auto add = [&](std::string_view what, std::string_view word) {
      out.append(std::exchange(separator, ", ")).append(what).append(" ").append(word);
    };
    for (std::size_t i = 0; i < is.actions.size(); ++i) {
      if (was.actions[i] != is.actions[i]) add(rules.filters()[i], to_string(is.actions[i]));
    }
    if (was.otherwise != is.otherwise) add("otherwise", to_string(is.otherwise));
  }
  return out;
}

}  // namespace bloomwall::proxy
